"""What runs behind the walls. Sent there as text: the sandbox can read no file of ours.

Modules here import the standard library, one another, and nothing else.
"""
