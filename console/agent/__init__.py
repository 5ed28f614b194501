"""The program that runs on the box: standard library only, Python >= 3.8, shipped over the channel.

It leaves nothing behind and dies with its connection. Entry: `main.main(config)`. How a further probe or request
plugs in is told in `registry`.
"""
