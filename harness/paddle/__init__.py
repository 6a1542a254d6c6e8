"""The ops as FastDeploy calls them, with Paddle tensors: what each call looks like, and how modules are called.

Nothing here imports Paddle before a call needs it.
"""
