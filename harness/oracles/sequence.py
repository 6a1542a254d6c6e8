"""Over whole rounds: do positions stay those of the account, and does every call agree with the golden model's?"""

CATCHES = "state that drifts from round to round: a rollback forgotten or taken twice, a flag that outlives its request"
