"""``attngeo cache``: the stored query and key weights from the Hub."""

import shutil
from collections import Counter

import click


@click.command
@click.option(
    "--clear",
    is_flag=True,
    help="Delete all stored weights. Deleted weights are downloaded again when they are needed.",
)
def command(clear: bool) -> None:
    """Show where the query and key weights from the Hub are stored, and the size of each repository and commit.

    Stored weights are reused, even without an internet connection. To move the folder, set HF_HOME or HF_ASSETS_CACHE.
    """
    from attngeo.checkpoints.hub import cache_folder

    sizes: Counter[tuple[str, str]] = Counter()
    for path in sorted(cache_folder().glob("*/*/*/*")):
        sizes[path.parts[-4].replace("--", "/", 1), path.parts[-3]] += path.stat().st_size
    if clear and cache_folder().is_dir():
        shutil.rmtree(cache_folder())
    for (repository, commit), size in sizes.items():
        click.echo(f"{repository}  {commit[:12]}  {size / 1e6:.1f} MB")
    done = "removed from" if clear else "in"
    click.echo(f"{sum(sizes.values()) / 1e6:.1f} MB of queries and keys {done} {cache_folder()}")
