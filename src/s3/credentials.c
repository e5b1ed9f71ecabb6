/* credentials.c - the chain in which AWS tools look for keys, and its links that are here already: environment and
 * profiles. The others are in credentials_fetch.c. */
#include "s3/credentials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "base/file.h"
#include "base/path.h"
#include "s3/ini.h"

/* A file of profiles has a few KiB. */
enum { FILE_MOST = 1 << 20 };

/* Secrets are wiped before their memory goes back: cores and swapped pages should not have them. */
static void wipe(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void s3_keys_release(s3_keys *keys)
{
    free(keys->key);
    wipe(keys->secret);
    wipe(keys->token);
    *keys = (s3_keys){0};
}

/* The copy's texts are its own; `expires`, `renewal` and `source` come along by value. */
int s3_keys_copy(const s3_keys *from, s3_keys *to)
{
    *to = *from;
    to->key = from->key ? assay_copy_text(from->key) : NULL;
    to->secret = from->secret ? assay_copy_text(from->secret) : NULL;
    to->token = from->token ? assay_copy_text(from->token) : NULL;
    if (!to->key == !from->key && !to->secret == !from->secret && !to->token == !from->token)
        return ASSAY_OK;
    s3_keys_release(to);
    return ASSAY_ENOMEM;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* ---- profiles ---- */

/* The file that a variable names, or the one below the home directory; NULL: there is no home, or no memory. */
static char *profile_path(const char *name, const char *usual)
{
    const char *given = variable(name), *home = variable("HOME");
    if (given && (given[0] != '~' || given[1] != '/' || !home))
        return assay_copy_text(given);
    return home ? assay_path_join(home, given ? given + 2 : usual) : NULL;
}

static int read_profiles(const char *path, assay_buf *out, assay_error *err)
{
    int status = path ? assay_file_read(path, FILE_MOST, out, err) : ASSAY_OK;
    /* No file is no failure: the chain goes on to its next link. */
    if (status == ASSAY_ENOTFOUND && err)
        err->text[0] = '\0';
    return status == ASSAY_ENOTFOUND ? ASSAY_OK : status;
}

static bool has_profile(const s3_profiles *p)
{
    return s3_ini_has((const char *)p->credentials.data, p->credentials.size, p->name) ||
           s3_ini_has((const char *)p->config.data, p->config.size, p->name);
}

int s3_profiles_read(s3_profiles *out, assay_error *err)
{
    const char *name = variable("AWS_PROFILE");
    *out = (s3_profiles){.name = assay_copy_text(name ? name : "default"), .given = name != NULL};
    assay_buf_init(&out->credentials, FILE_MOST);
    assay_buf_init(&out->config, FILE_MOST);
    out->credentials_path = profile_path("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials");
    out->config_path = profile_path("AWS_CONFIG_FILE", ".aws/config");
    int status = out->name ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "out of memory while profiles were read");
    ASSAY_THEN(status, read_profiles(out->credentials_path, &out->credentials, err));
    ASSAY_THEN(status, read_profiles(out->config_path, &out->config, err));
    /* AWS_PROFILE with a name that nobody has is a typo, and the default profile must not step in for it. */
    if (status == ASSAY_OK && out->given && !has_profile(out))
        status = assay_fail(err, ASSAY_EUSAGE,
                            "AWS_PROFILE is \"%.80s\", and neither %.120s nor %.120s has a profile of that name",
                            out->name, out->credentials_path ? out->credentials_path : "a credentials file",
                            out->config_path ? out->config_path : "a config file");
    if (status != ASSAY_OK)
        s3_profiles_release(out);
    return status;
}

void s3_profiles_release(s3_profiles *profiles)
{
    if (profiles->credentials.data)
        explicit_bzero(profiles->credentials.data, profiles->credentials.size);
    if (profiles->config.data)
        explicit_bzero(profiles->config.data, profiles->config.size);
    assay_buf_release(&profiles->credentials);
    assay_buf_release(&profiles->config);
    free(profiles->name);
    free(profiles->credentials_path);
    free(profiles->config_path);
}

static int find_in(const assay_buf *text, const char *profile, const char *group, const char *key, char **value)
{
    return s3_ini_find((const char *)text->data, text->size, profile, group, key, value);
}

/* The credentials file goes before the config file, as AWS tools have it. */
int s3_profiles_find(const s3_profiles *p, const char *group, const char *key, char **value)
{
    int found = find_in(&p->credentials, p->name, group, key, value);
    return found == 0 ? find_in(&p->config, p->name, group, key, value) : found;
}

/* ---- links ---- */

static int from_environment(s3_keys *out, assay_error *err)
{
    const char *key = variable("AWS_ACCESS_KEY_ID"), *secret = variable("AWS_SECRET_ACCESS_KEY"),
               *token = variable("AWS_SESSION_TOKEN");
    /* 0: this link has nothing, the chain goes on; 1: found; negative: it has something that cannot be used, which
     * ends the chain. */
    if (!key && !secret)
        return 0;
    if (!key || !secret)
        return assay_fail(err, ASSAY_EUSAGE, "%s is set and %s is not: S3 takes both",
                          key ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                          key ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    *out = (s3_keys){.key = assay_copy_text(key),
                     .secret = assay_copy_text(secret),
                     .token = token ? assay_copy_text(token) : NULL,
                     .expires = INT64_MAX,
                     .source = "AWS_ACCESS_KEY_ID"};
    if (out->key && out->secret && !token == !out->token)
        return 1;
    s3_keys_release(out);
    return ASSAY_ENOMEM;
}

/* A profile that takes a role, or signs in, has keys for that only: they are not those of the profile. */
static int refuse_roles(const s3_profiles *p, assay_error *err)
{
    static const char *const keys[] = {"role_arn", "sso_session", "sso_start_url", NULL};
    for (const char *const *key = keys; *key; key++) {
        char *value = NULL;
        int found = s3_profiles_find(p, NULL, *key, &value);
        free(value);
        if (found < 0)
            return found;
        if (found > 0)
            return assay_fail(
                err, ASSAY_EUSAGE,
                "the profile \"%.80s\" has %s, which assay does not follow: export keys for it (`aws configure "
                "export-credentials --format env`), or give it a credential_process",
                p->name, *key);
    }
    return 0;
}

/* The keys of one of the files. */
static int from_file(const s3_profiles *p, const assay_buf *text, const char *path, s3_keys *out, assay_error *err)
{
    s3_keys keys = {.expires = INT64_MAX};
    int key = find_in(text, p->name, NULL, "aws_access_key_id", &keys.key);
    /* Each step runs only if the one before did not fail; -1 and lower are failures, 0 and 1 whether it was found. */
    int secret = key >= 0 ? find_in(text, p->name, NULL, "aws_secret_access_key", &keys.secret) : key;
    int token = secret >= 0 ? find_in(text, p->name, NULL, "aws_session_token", &keys.token) : secret;
    int status = token < 0 ? token : key && secret;
    if (token >= 0 && key != secret)
        status = assay_fail(err, ASSAY_EUSAGE, "%.200s: the profile \"%.80s\" has %s and no %s", path, p->name,
                            key ? "aws_access_key_id" : "aws_secret_access_key",
                            key ? "aws_secret_access_key" : "aws_access_key_id");
    if (status == 1) {
        snprintf(keys.source, sizeof keys.source, "the profile \"%.50s\" of %.80s", p->name, path);
        *out = keys;
        return 1;
    }
    s3_keys_release(&keys);
    return status;
}

static int from_profiles(const s3_profiles *p, s3_keys *out, assay_buf *looked, assay_error *err)
{
    char *command = NULL;
    int status = refuse_roles(p, err);
    if (status == 0)
        status = from_file(p, &p->credentials, p->credentials_path, out, err);
    if (status == 0)
        status = from_file(p, &p->config, p->config_path, out, err);
    if (status == 0) {
        /* A command of the user's own files: run as their shell would run it. */
        status = s3_profiles_find(p, NULL, "credential_process", &command);
        if (status == 1)
            status = s3_keys_from_process(command, p->name, out, err);
        free(command);
    }
    if (status == 0)
        assay_put_format(looked, ", the profile \"%.40s\" (keys or credential_process) of %.80s and %.80s", p->name,
                         p->credentials_path ? p->credentials_path : "~/.aws/credentials",
                         p->config_path ? p->config_path : "~/.aws/config");
    return status;
}

static bool is_clean(const char *text)
{
    while (text && *text > ' ' && *text < 0x7f)
        text++;
    return !text || !*text;
}

/* A line end that came along from a file would end in a header, or in "the server does not accept the credentials". */
static int check_keys(s3_keys *keys, assay_error *err)
{
    const char *what = !is_clean(keys->key)      ? "access key"
                       : !is_clean(keys->secret) ? "secret key"
                       : !is_clean(keys->token)  ? "session token"
                                                 : NULL;
    if (!what)
        return 1;
    assay_fail(err, ASSAY_EUSAGE,
               "the credentials are from %s, and the %s has a blank, a line end or another character that belongs in "
               "none: take it out",
               keys->source, what);
    s3_keys_release(keys);
    return ASSAY_EUSAGE;
}

/* `looked` collects, for the message, where keys were looked for. Order of the chain as in AWS tools: environment,
 * profile, web identity, container, instance. The last link asks a network address, so it is tried only if all others
 * have nothing. */
int s3_credentials_find(const s3_profiles *profiles, const char *region, const char *ca_file, bool allow_none,
                        s3_keys *out, assay_error *err)
{
    assay_buf looked = ASSAY_BUF(4096);
    assay_put_format(&looked, "AWS_ACCESS_KEY_ID");
    int status = from_environment(out, err);
    if (status == 0)
        status = from_profiles(profiles, out, &looked, err);
    if (status == 0)
        status = s3_keys_from_web_identity(region, ca_file, out, &looked, err);
    if (status == 0)
        status = s3_keys_from_container(ca_file, out, &looked, err);
    if (status == 0)
        status = s3_keys_from_instance(out, &looked, err);
    if (status == 1)
        status = check_keys(out, err);
    if (status == ASSAY_ENOMEM)
        assay_fail(err, status, "out of memory while credentials were looked for");
    if (status == 0 && !allow_none)
        status = assay_fail(err, ASSAY_EUSAGE,
                            "no credentials for S3; looked for %.*s; --s3-unsigned, or \"s3\": {\"unsigned\": true} in "
                            "the job, asks without any",
                            (int)looked.size, looked.data ? (const char *)looked.data : "");
    if (status == 0)
        *out = (s3_keys){.expires = INT64_MAX, .source = "no credentials"};
    assay_buf_release(&looked);
    return status > 0 ? ASSAY_OK : status;
}
