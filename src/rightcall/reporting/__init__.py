"""Run folders, comparisons of runs, reports, web pages, and the viewer."""
