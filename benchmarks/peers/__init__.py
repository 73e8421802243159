"""The programs that run inside the environments: one module each for us and for every peer.

They share `serving`, and import nothing else but the standard library, the tasks and what they measure.
"""
