"""``python -m tests.e2e.side_by_side.broken run …``: hpa-controller with all broken builds, one per namespace."""

import sys

from controller.cli.main import main
from tests.e2e.side_by_side.broken.builds import install

install()
sys.exit(main())
