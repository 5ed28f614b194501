"""The job runner: starts one program on the box, stays its reaper, and writes down how it ended.

Standard library only, Python >= 3.8. One request a call, one JSON object as answer on standard output; the job
itself is served by a detached process that outlives the connection. `main` lists the requests, `folder` the files.
"""
