"""The kinds of business: tools, policies, and generated data and tasks."""
