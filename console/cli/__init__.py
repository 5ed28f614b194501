"""The command line. It imports the app, the session and the link only inside the command that needs them."""
