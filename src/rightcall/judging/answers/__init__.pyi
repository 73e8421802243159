from ._answers import Target as Target, expected_part as expected_part, part_of as part_of
