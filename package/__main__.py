"""`python -m opgold` is `opgold`."""

from opgold.harness.cli import main

if __name__ == "__main__":
    main()
