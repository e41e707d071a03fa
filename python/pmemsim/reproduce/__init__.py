"""`pmemsim reproduce`: the papers' experiments, run again and compared with what they report.

What is run stands in experiments/PAPER/experiment.yaml (`plan`), what the paper reports in
expected.yaml beside it (`facts`). `runs` simulates and keeps results, `measurements` turns them
into ratios, `verdicts` compares, `figures` draws, `report` makes the JSON.
"""
