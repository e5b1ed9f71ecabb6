/* commit.h - the commit of a directory's git tree, read from git's files: a training starts no program. */
#pragma once

#include <stdbool.h>

enum { HOOK_COMMIT_ROOM = 65, HOOK_BRANCH_ROOM = 256 };

typedef struct hook_commit {
    char hash[HOOK_COMMIT_ROOM];   /* 40 or 64 hexadecimal digits; empty for a branch without a commit */
    char branch[HOOK_BRANCH_ROOM]; /* "main"; empty for a detached HEAD */
} hook_commit;

/* Looks for .git in `directory` and those above it, linked work trees and submodules included. False when there is
 * none, or its files are not as git writes them. */
bool hook_find_commit(const char *directory, hook_commit *out);
