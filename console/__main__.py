"""`python -m console` is the same as the command `gpudeck`."""

from console.cli.main import main

if __name__ == "__main__":
    main()
