/* mask.h - masks secrets in the facts of a run: whoever reads its trial or a report reads them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <assay/pack.h>

/* What stands in the place of a secret. */
#define ASSAY_MASK "***"

/* True when the name of a setting says that its value is secret: "password", "db.passwd", "HF_TOKEN", "api-key",
 * "awsSecretAccessKey"; false for "max_tokens" and "tokenizer". */
bool assay_name_is_secret(const char *name, size_t length);

/* Appends a text without the secrets in it: values behind secret names ("--password=x", "token: x", "?sig=x"), user and
 * password of a URL, and texts that begin as the tokens of well-known services do. */
void assay_put_masked(assay_buf *out, const char *text);

/* True when the argument is an option whose value is the next argument, and that value is secret: "--password". */
bool assay_option_is_secret(const char *argument);
