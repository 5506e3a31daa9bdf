"""Files that are old or new and never half, where they lie in a checkout, and what they were made with."""

from attngeo.records.atomic import atomic_path, write_text
from attngeo.records.checkout import CheckoutError, data, root
from attngeo.records.provenance import commit, hardware, sha256, versions

__all__ = ["CheckoutError", "atomic_path", "commit", "data", "hardware", "root", "sha256", "versions", "write_text"]
