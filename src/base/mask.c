/* mask.c - see mask.h.
 *
 * A name is cut into words: '_', '-', '.', '/' and capitals begin a new one. One word, or two neighbouring ones,
 * decide. Masking too much costs a setting in a comparison, masking too little a password: in doubt it masks. */
#include "base/mask.h"

#include <ctype.h>
#include <string.h>

/* WORD_ROOM: longer words are cut, no word of the lists is near it. NAME_MOST: a longer option is no name but a
 * value. TOKEN_LEAST: shorter texts with such a head are names, such as "sk-learn". */
enum { WORD_ROOM = 32, NAME_MOST = 200, TOKEN_LEAST = 16 };

static bool is_in(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool ends_in(const char *word, const char *end)
{
    size_t length = strlen(word), tail = strlen(end);
    return length >= tail && strcmp(word + length - tail, end) == 0;
}

/* Endings and parts count as well as words: "hf_token", "dbpassword2" and "clientsecret" are written in one. */
static bool is_secret_word(const char *word)
{
    static const char *const words[] = {"auth",        "authorization", "bearer",     "cookie", "cookies", "credential",
                                        "credentials", "pass",          "passphrase", "pat",    "pwd",     "secret",
                                        "secrets",     "sig",           "signature",  NULL};
    return is_in(word, words) || ends_in(word, "token") || ends_in(word, "apikey") || strstr(word, "passw") ||
           strstr(word, "secret") || strstr(word, "credential");
}

/* "key" alone is too common to mask (primary_key, key_size): the word before it has to say whose key it is. */
static bool makes_key_secret(const char *word)
{
    static const char *const words[] = {"access",  "account",    "api",     "auth",    "aws",     "client",
                                        "deploy",  "encryption", "license", "private", "service", "shared",
                                        "signing", "ssh",        "wandb",   NULL};
    return is_in(word, words);
}

/* The next word of a name in lower case, cut to the room; false at its end. */
static bool take_word(const char *name, size_t length, size_t *at, char word[WORD_ROOM])
{
    size_t n = 0;
    while (*at < length && !isalnum((unsigned char)name[*at]))
        ++*at;
    /* Capitals begin a word only behind a small letter: "AWSKey" is "awskey", "wandbApiKey" three words. */
    for (size_t first = *at; *at < length && isalnum((unsigned char)name[*at]); ++*at) {
        bool begins = *at > first && isupper((unsigned char)name[*at]) && islower((unsigned char)name[*at - 1]);
        if (begins)
            break;
        if (n + 1 < WORD_ROOM)
            word[n++] = (char)tolower((unsigned char)name[*at]);
    }
    word[n] = '\0';
    return n > 0;
}

bool assay_name_is_secret(const char *name, size_t length)
{
    char word[WORD_ROOM], before[WORD_ROOM] = "";
    size_t at = 0;
    while (take_word(name, length, &at, word)) {
        bool key = strcmp(word, "key") == 0 || strcmp(word, "keys") == 0;
        if (is_secret_word(word) || (key && makes_key_secret(before)))
            return true;
        memcpy(before, word, sizeof before);
    }
    return false;
}

bool assay_option_is_secret(const char *argument)
{
    size_t length = strlen(argument);
    return argument[0] == '-' && length <= NAME_MOST && !strpbrk(argument, "=: ") &&
           assay_name_is_secret(argument, length);
}

/* Tokens that say themselves what they are. */
static bool begins_as_token(const char *text, size_t length)
{
    static const char *const heads[] = {"ghp_",  "gho_",  "ghs_", "github_pat_", "glpat-", "hf_", "sk-",
                                        "xoxb-", "xoxp-", "AKIA", "ASIA",        "eyJ",    NULL};
    for (size_t i = 0; heads[i]; i++)
        if (length >= TOKEN_LEAST && strncmp(text, heads[i], strlen(heads[i])) == 0)
            return true;
    return false;
}

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Behind a secret name: how many bytes of `value` belong to the secret. In a URL it ends where the next parameter
 * begins, in quotes with them; else all that follows is part of it. */
static size_t secret_length(const char *value, char before_name)
{
    const char *end = NULL;
    if (before_name == '?' || before_name == '&')
        end = strpbrk(value, "&#");
    else if (before_name == '"' || before_name == '\'')
        end = strchr(value, before_name);
    return end ? (size_t)(end - value) : strlen(value);
}

/* At the end of a name: the bytes from there to its value, quotes and blanks included; 0 when none follows. */
static size_t to_value(const char *text)
{
    size_t n = strspn(text, "\"'");
    n += strspn(text + n, " ");
    if (text[n] != '=' && text[n] != ':')
        return 0;
    n++;
    n += strspn(text + n, " ");
    return n + strspn(text + n, "\"'");
}

/* user:password@ of a URL, from behind its "//"; 0 when there is none. */
static size_t user_length(const char *text)
{
    size_t n = strcspn(text, "/?#@ ");
    return text[n] == '@' ? n : 0;
}

void assay_put_masked(assay_buf *out, const char *text)
{
    /* From left to right: user and password of a URL, then texts that look like tokens, then values behind secret
     * names. */
    size_t at = 0;
    while (text[at]) {
        size_t name = 0;
        if (strncmp(text + at, "//", 2) == 0 && at > 0 && text[at - 1] == ':' && user_length(text + at + 2) > 0) {
            assay_put_format(out, "//" ASSAY_MASK);
            at += 2 + user_length(text + at + 2);
            continue;
        }
        while (in_name(text[at + name]))
            name++;
        if (name == 0) {
            assay_put_u8(out, (uint8_t)text[at++]);
            continue;
        }
        if (begins_as_token(text + at, name)) {
            assay_put_format(out, ASSAY_MASK);
            at += name;
            continue;
        }
        size_t lead = name + (assay_name_is_secret(text + at, name) ? to_value(text + at + name) : 0);
        assay_put_bytes(out, text + at, lead);
        if (lead > name) {
            assay_put_format(out, ASSAY_MASK);
            lead += secret_length(text + at + lead, at > 0 ? text[at - 1] : '\0');
        }
        at += lead;
    }
}
