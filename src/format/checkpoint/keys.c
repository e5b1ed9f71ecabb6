/* keys.c - see keys.h. */
#include "format/checkpoint/keys.h"

#include <string.h>

#include "format/checkpoint/walk.h"

enum { KEY_ROOM = 21 }; /* of the longest, "optimizer_state_dict", and its terminator */

static const struct {
    char key[KEY_ROOM];
    assay_key_kind kind;
} keys[] = {
    {"model", ASSAY_KEY_MODEL},
    {"module", ASSAY_KEY_MODEL},
    {"state_dict", ASSAY_KEY_MODEL},
    {"model_state_dict", ASSAY_KEY_MODEL},
    {"model_state", ASSAY_KEY_MODEL},
    {"net", ASSAY_KEY_MODEL},
    {"params", ASSAY_KEY_MODEL},
    {"optimizer", ASSAY_KEY_OPTIMIZER},
    {"optimizers", ASSAY_KEY_OPTIMIZER},
    {"optim", ASSAY_KEY_OPTIMIZER},
    {"optimizer_states", ASSAY_KEY_OPTIMIZER},
    {"optimizer_state_dict", ASSAY_KEY_OPTIMIZER},
    {"optimizer_state", ASSAY_KEY_OPTIMIZER},
    {"opt", ASSAY_KEY_OPTIMIZER},
    {"ema", ASSAY_KEY_AVERAGE},
    {"model_ema", ASSAY_KEY_AVERAGE},
    {"ema_model", ASSAY_KEY_AVERAGE},
    {"ema_state_dict", ASSAY_KEY_AVERAGE},
    {"state_dict_ema", ASSAY_KEY_AVERAGE},
    {"params_ema", ASSAY_KEY_AVERAGE},
};

static bool same(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool is_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

/* What a key is, by its text. */
static assay_key_kind assay_key_kind_of(const char *key, size_t length)
{
    for (size_t i = 0; length < KEY_ROOM && i < sizeof keys / sizeof *keys; i++)
        if (key[0] == keys[i].key[0] && same(key, length, keys[i].key))
            return keys[i].kind;
    return length > 5 && memcmp(key, "model", 5) == 0 && is_digits(key + 5, length - 5) ? ASSAY_KEY_MODEL
                                                                                        : ASSAY_KEY_OTHER;
}

assay_key_kind assay_key_kind_of_node(const assay_pickle *p, uint32_t key)
{
    if (key == ASSAY_PICKLE_NOTHING || p->node[key].kind != ASSAY_PICKLE_TEXT)
        return ASSAY_KEY_OTHER;
    return assay_key_kind_of((const char *)p->bytes + p->node[key].a, (size_t)p->node[key].size);
}

void assay_keys_put_kept(const char *key, size_t length, assay_buf *out)
{
    if (same(key, length, "fp32_param") || same(key, length, "master_param") || same(key, length, "param"))
        assay_put_format(out, "fp32");
    else
        assay_put_bytes(out, key, length);
}

/* Takes a word and a point off the beginning. */
static bool take_word(const char **text, size_t *length, const char *word)
{
    const size_t size = strlen(word);
    if (*length <= size || memcmp(*text, word, size) != 0 || (*text)[size] != '.')
        return false;
    *text += size + 1;
    *length -= size + 1;
    return true;
}

void assay_keys_put_flat(const char *name, size_t length, assay_buf *out)
{
    static const char *const megatron[] = {"exp_avg",         "exp_avg_sq", "max_exp_avg_sq",
                                           "momentum_buffer", "fp32_param", "master_param"};
    const char *at = name, *chain = NULL;
    size_t left = length, chain_length = 0;
    if (left > 8 && memcmp(at, "chained_", 8) == 0) {
        const char *point = memchr(at, '.', left);
        if (point && is_digits(at + 8, (size_t)(point - at) - 8)) {
            chain = at + 8;
            chain_length = (size_t)(point - chain);
            left -= (size_t)(point + 1 - at);
            at = point + 1;
        }
    }
    if ((!take_word(&at, &left, "optimizer") && !take_word(&at, &left, "optim")) || !take_word(&at, &left, "state")) {
        assay_put_bytes(out, name, length);
        return;
    }
    const char *parameter = at, *key = NULL;
    size_t parameter_length = left, key_length = 0;
    for (size_t i = 0; i < sizeof megatron / sizeof *megatron && !key; i++)
        if (take_word(&parameter, &parameter_length, megatron[i])) {
            key = megatron[i];
            key_length = strlen(key);
        }
    if (!key) { /* KEY is the last component */
        while (parameter_length > 0 && at[parameter_length - 1] != '.')
            parameter_length--;
        key = at + parameter_length;
        key_length = left - parameter_length;
        parameter_length -= parameter_length > 0;
    }
    assay_put_format(out, "optimizer/");
    if (chain) {
        assay_put_bytes(out, chain, chain_length);
        assay_put_u8(out, '.');
    }
    if (is_digits(parameter, parameter_length))
        assay_put_u8(out, '#');
    assay_put_bytes(out, parameter, parameter_length);
    assay_put_u8(out, '/');
    assay_keys_put_kept(key, key_length, out);
}

/* The name of an optimizer's tensor, by the keys below the optimizer's own. */
static int put_optimizer_path(const assay_pickle *p, uint32_t item, assay_buf *out)
{
    static const char STATE[] = "optimizer.state.";
    assay_buf name = ASSAY_BUF(SIZE_MAX);
    assay_put_format(&name, "optimizer");
    for (; item != ASSAY_PICKLE_NOTHING; item = p->item[item].next) {
        assay_put_u8(&name, '.');
        assay_walk_put_key(p, p->item[item].value, &name);
    }
    const int status = assay_buf_status(&name);
    const bool state = name.size > sizeof STATE && memcmp(name.data, STATE, sizeof STATE - 1) == 0;
    if (status == ASSAY_OK && state) {
        assay_keys_put_flat((const char *)name.data, name.size, out);
    } else if (status == ASSAY_OK) {
        assay_put_format(out, "state/");
        assay_put_bytes(out, name.data, name.size);
    }
    assay_buf_release(&name);
    return status == ASSAY_OK ? assay_buf_status(out) : status;
}

int assay_keys_put_path(const assay_pickle *p, uint32_t path, assay_buf *out)
{
    uint32_t item = p->node[path].first;
    const assay_key_kind kind = assay_key_kind_of_node(p, p->item[item].value);
    if (kind == ASSAY_KEY_OPTIMIZER)
        return put_optimizer_path(p, p->item[item].next, out);
    if (kind == ASSAY_KEY_AVERAGE)
        assay_put_format(out, "ema/");
    else if (kind == ASSAY_KEY_OTHER)
        assay_put_format(out, "state/");
    if (kind != ASSAY_KEY_OTHER)
        item = p->item[item].next;
    for (bool first = true; item != ASSAY_PICKLE_NOTHING; item = p->item[item].next, first = false) {
        if (!first)
            assay_put_u8(out, '.');
        assay_walk_put_key(p, p->item[item].value, out);
    }
    return assay_buf_status(out);
}
