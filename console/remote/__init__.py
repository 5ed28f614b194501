"""The way to a box: SSH or local, host keys, and the agent. The only room that imports asyncssh."""
