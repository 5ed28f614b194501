"""The story of that night on the demo box: each mistake is made on purpose, and what prevents it is pointed at.

A scene changes the world (fills the Hub, truncates a shard, starts a stranger's process, cuts the link) and then acts
as a user does, through the verbs behind the console's keys. Nothing of the console knows that it is watched: what
prevented the mistake is read from the facts of the session.
"""
