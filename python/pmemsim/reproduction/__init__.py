"""`pmemsim reproduce`: run the papers' experiments again, and compare them with the papers.

experiments/PAPER/experiment.yaml has the runs (`plan`), and expected.yaml beside it has the paper's
results (`facts`). `runs` simulates and keeps results, `measurements` turns them into ratios,
`verdicts` compares, `figures` draws, `report` writes the JSON.
"""
