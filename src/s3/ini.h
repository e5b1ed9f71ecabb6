/* ini.h - the files of profiles that AWS tools share: ~/.aws/credentials and ~/.aws/config. Inside s3 only. */
#pragma once

#include <assay/pack.h>
#include <assay/status.h>

/* Finds a value in the text of such a file: of `key` in the section [profile] or [profile PROFILE], or, with `group`,
 * of the indented line `key` below `group` there. Comments begin a line with '#' or ';', or follow a blank. The last
 * one counts when there are several. Returns 1 with *value, which the caller frees; 0 when there is none; ASSAY_ENOMEM.
 */
int s3_ini_find(const char *text, size_t size, const char *profile, const char *group, const char *key, char **value);
/* Is there a section of that profile? */
bool s3_ini_has(const char *text, size_t size, const char *profile);
