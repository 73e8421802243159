"""The same inputs through every evaluator of ours and of the peers, and the tables of the documents made of that."""
