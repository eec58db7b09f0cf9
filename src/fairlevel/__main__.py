"""``python -m fairlevel``: the command line."""

from fairlevel.cli import app

if __name__ == "__main__":
    app()
