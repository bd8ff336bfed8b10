"""Mathematics for gem-core: ``plugin`` lists the ids, and ``grading`` is the grader."""
