/* secret.c - see secret.h. */
#include "action/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fault.h"

/* Larger than any token or key; a file that is larger is some other file. */
enum { LARGEST = 8192 };

/* A literal is read here as well, and refused by those callers whose value is always a secret. */
int assay_secret_read(const job_reader *r, const char *place, const cJSON *item, assay_secret *out)
{
    static const char *const keys[] = {"env", "file", NULL};
    const char *env = NULL, *file = NULL;
    if (cJSON_IsString(item) && item->valuestring[0]) {
        *out = (assay_secret){ASSAY_SECRET_LITERAL, assay_copy_text(item->valuestring), NULL};
        return out->source ? ASSAY_OK : job_no_memory(r);
    }
    if (!cJSON_IsObject(item))
        return job_fail(r, place, "expected a text, {\"env\": NAME} or {\"file\": PATH}");
    int status = job_known_keys(r, place, item, keys);
    ASSAY_THEN(status, job_text(r, place, item, "env", &env));
    ASSAY_THEN(status, job_text(r, place, item, "file", &file));
    ASSAY_TRY(status);
    if (!env == !file)
        return job_fail(r, place, "expected either \"env\" or \"file\"");
    *out = (assay_secret){env ? ASSAY_SECRET_ENV : ASSAY_SECRET_FILE, assay_copy_text(env ? env : file), NULL};
    return out->source ? ASSAY_OK : job_no_memory(r);
}

void assay_secret_release(assay_secret *secret)
{
    free(secret->source);
    free(secret->value);
    *secret = (assay_secret){ASSAY_SECRET_LITERAL, NULL, NULL};
}

/* Tells why this file may not hold a secret; NULL when it may. Asked of the open file, so that nobody can change it
 * in between. */
static const char *unfit(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return "is no regular file";
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return "belongs to another user";
    if (st->st_mode & 077)
        return "is open to other users; `chmod 600` it";
    if (st->st_size > LARGEST)
        return "is too large for a secret";
    return NULL;
}

static int fetch_file(assay_secret *secret, const char *place, assay_error *err)
{
    char text[LARGEST + 1];
    struct stat st;
    int fd = open(secret->source, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* not to wait for a FIFO's writer */
    if (fd < 0)
        return assay_fail(err, ASSAY_EJOB, "%s: %s: cannot open: %s", place, secret->source, strerror(errno));
    const char *why = fstat(fd, &st) == 0 ? unfit(&st) : "cannot be examined";
    ssize_t got = 0, used = 0;
    while (!why && (got = read(fd, text + used, sizeof text - (size_t)used)) != 0) {
        if (got < 0 && errno != EINTR)
            why = "cannot be read";
        used += got > 0 ? got : 0;
    }
    close(fd);
    if (why)
        return assay_fail(err, ASSAY_EJOB, "%s: %s: %s", place, secret->source, why);
    /* Editors and echo end a file with a line end; more than one belongs to it. */
    used -= used > 0 && text[used - 1] == '\n';
    secret->value = assay_copy_bytes_as_text(text, (size_t)used);
    if (secret->value && strlen(secret->value) != (size_t)used) {
        free(secret->value);
        secret->value = NULL;
        return assay_fail(err, ASSAY_EJOB, "%s: %s: has a NUL byte in it", place, secret->source);
    }
    return secret->value ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
}

static int fetch_variable(assay_secret *secret, const char *place, assay_error *err)
{
    const char *value = getenv(secret->source);
    if (!value)
        return assay_fail(err, ASSAY_EJOB, "%s: the environment variable %s is not set", place, secret->source);
    secret->value = assay_copy_text(value);
    return secret->value ? ASSAY_OK : assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
}

/* Called late, just before the secret is needed: it is in memory of the rank that uses it, and of no other. Fetched
 * once. */
int assay_secret_fetch(assay_secret *secret, const char *place, assay_error *err)
{
    int status = ASSAY_OK;
    if (secret->value)
        return ASSAY_OK;
    if (secret->kind == ASSAY_SECRET_FILE)
        status = fetch_file(secret, place, err);
    else if (secret->kind == ASSAY_SECRET_ENV)
        status = fetch_variable(secret, place, err);
    else if (!(secret->value = assay_copy_text(secret->source)))
        status = assay_fail(err, ASSAY_ENOMEM, "%s: out of memory", place);
    ASSAY_TRY(status);
    /* Values go into headers, command lines and mails, none of which may be left by a line end. */
    bool bad = secret->value[0] == '\0';
    for (const char *c = secret->value; *c; c++)
        bad |= (unsigned char)*c < ' ' || *c == 0x7f;
    if (!bad)
        return ASSAY_OK;
    free(secret->value);
    secret->value = NULL;
    return assay_fail(err, ASSAY_EJOB, "%s: %s is empty or has control characters in it", place,
                      secret->kind == ASSAY_SECRET_LITERAL ? "the text" : secret->source);
}

void assay_secret_put_source(const assay_secret *secret, assay_buf *out)
{
    if (secret->kind != ASSAY_SECRET_LITERAL)
        assay_put_format(out, "%s:%s", secret->kind == ASSAY_SECRET_ENV ? "env" : "file", secret->source);
}
