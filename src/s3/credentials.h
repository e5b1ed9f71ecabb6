/* credentials.h - finds the keys that requests are signed with, as AWS tools do. Inside s3 only. */
#pragma once

#include <stdint.h>

#include <assay/pack.h>
#include <assay/status.h>

typedef struct s3_keys {
    char *key, *secret, *token; /* owned; token NULL: none; all NULL: requests are not signed */
    int64_t expires;            /* seconds since 1970; INT64_MAX: never */
    unsigned renewal;           /* how often they were renewed before */
    char source[160];           /* where they are from, for messages */
} s3_keys;

/* Frees them; secrets are overwritten. */
void s3_keys_release(s3_keys *keys);
int s3_keys_copy(const s3_keys *from, s3_keys *to);

/* The two files of profiles and the profile that counts. */
typedef struct s3_profiles {
    char *name;                           /* AWS_PROFILE, or "default"; owned */
    bool given;                           /* by AWS_PROFILE */
    char *credentials_path, *config_path; /* owned; NULL where there is no home */
    assay_buf credentials, config;        /* their texts; empty where they are not there */
} s3_profiles;

/* Reads them. ASSAY_EUSAGE: a profile that is asked for is in neither; ASSAY_EIO, ASSAY_ENOMEM. Release them after
 * success only. */
int s3_profiles_read(s3_profiles *out, assay_error *err);
void s3_profiles_release(s3_profiles *profiles);
/* A value of the profile, of the credentials file before the config file's; `group` is for the config file. 1 with
 * *value, which the caller frees; 0: none; ASSAY_ENOMEM. */
int s3_profiles_find(const s3_profiles *profiles, const char *group, const char *key, char **value);

/* Walks the chain: environment, profiles, web identity, container, instance. With `allow_none`, nothing found is no
 * error. ASSAY_EUSAGE with what was looked for; ASSAY_EIO where a link is there and does not work; ASSAY_ENOMEM. *out
 * is empty before. */
int s3_credentials_find(const s3_profiles *profiles, const char *region, const char *ca_file, bool allow_none,
                        s3_keys *out, assay_error *err);

/* ---- the links that ask somebody; 1 with *out: keys; 0: this link is not set up here, with a few words appended to
 * `looked`; negative: it is set up and fails ---- */
int s3_keys_from_process(const char *command, const char *profile, s3_keys *out, assay_error *err);
int s3_keys_from_web_identity(const char *region, const char *ca_file, s3_keys *out, assay_buf *looked,
                              assay_error *err);
int s3_keys_from_container(const char *ca_file, s3_keys *out, assay_buf *looked, assay_error *err);
int s3_keys_from_instance(s3_keys *out, assay_buf *looked, assay_error *err);

/* Reads the JSON that processes, containers and instances answer with; `token` is the name of the token in it.
 * ASSAY_EFORMAT, without any of the text. */
int s3_keys_from_json(const char *name, const void *text, size_t size, const char *token, s3_keys *out,
                      assay_error *err);
/* The XML that STS answers with. */
int s3_keys_from_xml(const void *text, size_t size, s3_keys *out);
