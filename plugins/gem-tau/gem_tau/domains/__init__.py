"""The kinds of business: tools, policies, and generated data and tasks.

``retail`` is an online shop and ``airline`` an airline. Both have the same files; a file uses those
above it:

=================  ================================================================================
``policy.md``      the rules for the assistant
``words.yaml``     names, places and products, and the words that ask for a fact; ``words.py`` reads
                   them
``records.py``     what the tools look up, check and write in the records, and the rules on them
``tools.py``       the tools of the assistant, and the ``Domain``
``database.py``    generated databases by their number
``calls.py``       the reference calls of tasks
``customer.py``    a customer of a generated database, and how customers name what they want
``requests.py``    wishes that change the database: cancellations, payments, corrections, ...
``choices.py``     the same, where the assistant must find the only variant or flight that fits
``questions.py``   wishes that are answered in words
``refusals.py``    wishes that the policy forbids
``tasks.py``       tasks of one to three wishes: 200 fixed ones, and endless ones by seed
=================  ================================================================================

Two more domains have no generated tasks: ``telecom``, a mobile operator, and ``mock``, a list of
tasks. Their users have tools (``UserToolkit``); ``telecom`` has these in ``phone.py``, and what a
message asks a customer to do with them in ``errands.py``.

``wishes.py`` has what both businesses share: how wishes are drawn, and how they become a task.
"""
