/* redact.h - secrets that this process knows, and taking them out of whatever leaves it: messages, logs, files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/pack.h>
#include <assay/status.h>

/* What stands where a secret was. */
#define ASSAY_REDACTED "***"

enum { ASSAY_SECRET_LEAST = 4 /* bytes; shorter ones are ordinary words too often to be looked for */ };

/* Makes a text known as a secret; it is copied. Returns 0 or ASSAY_ENOMEM. Thread-safe, as all of these. */
int assay_redact_add(const char *secret);
/* Makes known what is secret about a URL. Of one that stands in a file for everybody (`open`) that is the user and the
 * query; else also host, path and the URL as a whole. */
int assay_redact_add_url(const char *url, bool open);
/* Is that entry of an environment ("NAME=VALUE") a secret by its name? No program that assay starts gets those. */
bool assay_redact_is_variable(const char *entry);
/* Takes all known secrets out of a terminated text, in whatever case they are, and what is left of one before "..."
 * where a message was cut. It becomes shorter at most. */
void assay_redact_text(char *text);
/* The same for what a buffer holds from `from` on. */
void assay_redact_buf(assay_buf *buf, size_t from);
