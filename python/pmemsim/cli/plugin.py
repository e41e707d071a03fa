"""`pmemsim new-design` and `pmemsim plugin`: designs of one's own, without pmemsim's sources."""
