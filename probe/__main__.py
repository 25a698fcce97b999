"""`python3 -m probe`: the command from a checkout, without installing it."""
from .cli import main

raise SystemExit(main())
