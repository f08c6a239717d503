#!/bin/bash
# deploy.sh REMOTE BRANCH WORKTREE publishes docs/site as a commit on a branch of a remote, unless the branch has just that already.
#
# The files are staged in a worktree of their own, and the commit is made without a branch here and pushed by its id. So branches, index and
# files of the checkout stay as they are, whatever happens; the worktree is removed at every end.
set -euo pipefail
remote=$1 branch=$2 worktree=$3

say() { echo "make deploy: $*"; }
die() { say "$@" >&2; exit 1; }

unset $(git rev-parse --local-env-vars) # as in a hook: they would name another repository
cd "$(dirname "$0")"
source=$(git rev-parse HEAD)
[ -z "$(git status --porcelain -- . ../README.md)" ] || source+=" and changes that are not committed"

# Making the folder is the lock: of two at once, one gets it.
mkdir -p "$(dirname "$worktree")"
mkdir "$worktree" 2>/dev/null || die "$worktree exists: another deploy runs, or was killed; if none runs, remove it"
remove() {
	git worktree remove --force "$worktree" 2>/dev/null || true
	rm -rf "$worktree"
}
trap remove EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

published=$(git ls-remote "$remote" "refs/heads/$branch" | cut -f1) || die "$remote cannot be read"
[ -z "$published" ] || git fetch --quiet --no-tags --no-write-fetch-head --refmap= "$remote" "refs/heads/$branch" ||
	die "$branch of $remote cannot be fetched"

# Twice --force: a folder that somebody has removed by hand is still on git's list. Without hooks: one may write into the checkout.
git -c core.hooksPath=/dev/null worktree add --quiet --force --force --detach --no-checkout "$worktree" HEAD
cp -a site/. "$worktree"
git -C "$worktree" -c core.autocrlf=false add --all --force
tree=$(git -C "$worktree" write-tree)

if [ -n "$published" ] && [ "$tree" = "$(git rev-parse "$published^{tree}")" ]; then
	say "$branch of $remote is up to date; nothing to push"
	exit 0
fi
commit=$(git commit-tree "$tree" ${published:+-p "$published"} -m "docs: render the pages" -m "Source: $source") ||
	die "git has no name for the author: set user.name and user.email"
git push --quiet "$remote" "$commit:refs/heads/$branch" || die "$remote did not take the push to $branch; nothing is changed"
say "pushed to $branch of $remote: the pages of $source"
