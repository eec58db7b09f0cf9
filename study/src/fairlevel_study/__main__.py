"""``python -m fairlevel_study``: the command line."""

from fairlevel_study.cli import app

if __name__ == "__main__":
    app()
