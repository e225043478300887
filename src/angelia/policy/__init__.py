"""Pure verdicts: facts in, `Allow | Ask | Deny` out, each with a reason; no match is Deny."""
