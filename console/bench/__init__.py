"""What a benchmark number means: definitions, data sets, stored runs, verdicts. Pure, apart from the run store."""
