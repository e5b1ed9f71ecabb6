/* trial_order.c - what each tensor is in the training (its role), and where it stands in the order of computation.
 *
 * How it works:
 *   1. the role comes from the collections gradients, losses, optimizer_variables, weights, biases and labels; for
 * trials without them, from the names that the common hooks give
 *   2. roles fall into phases of a step; weights that a hook saves before the forward pass hold the result of the
 * update before it, and come before the activations
 *   3. within a phase tensors keep the order in which they were saved (source/read.c finds it) */
#include "base/search.h"
#include "rule/trial_info.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/fault.h"

enum { PHASE_DATA, PHASE_STATE, PHASE_FORWARD, PHASE_LOSS, PHASE_BACKWARD, PHASE_UPDATE };

/* `head` is in lower case. */
static bool name_begins(const char *name, const char *head)
{
    for (; *head; name++, head++)
        if (tolower((unsigned char)*name) != *head)
            return false;
    return true;
}

enum { SAYS_LOSS = 1, SAYS_PARAMETER = 2, SAYS_INPUT = 4 };

/* Which words a name has, in one walk over it: "loss"; "weight" or "bias"; "_input_". Few letters begin one of them and
 * have its second letter behind them. */
static unsigned words_of(const char *name)
{
    static const uint8_t first[256] = {['l'] = 1, ['L'] = 1, ['w'] = 2, ['W'] = 2, ['b'] = 4, ['B'] = 4, ['_'] = 8};
    static const uint8_t second[256] = {['o'] = 1, ['O'] = 1, ['e'] = 2, ['E'] = 2, ['i'] = 12, ['I'] = 4};
    unsigned found = 0;
    for (const uint8_t *at = (const uint8_t *)name; *at; at++) {
        const unsigned begins = first[at[0]] & second[at[1]];
        if (!begins)
            continue;
        const char *word = (const char *)at;
        if (begins == 1)
            found |= name_begins(word, "loss") ? SAYS_LOSS : 0;
        else if (begins == 8)
            found |= strncmp(word, "_input_", 7) == 0 ? SAYS_INPUT : 0;
        else
            found |= name_begins(word, begins == 2 ? "weight" : "bias") ? SAYS_PARAMETER : 0;
    }
    return found;
}

/* Tells whether the name ends with `infix` and a number: "relu_output_0". */
static bool ends_with_number(const char *name, const char *infix)
{
    const char *at = NULL;
    for (const char *next = strstr(name, infix); next; next = strstr(next + 1, infix))
        at = next + strlen(infix);
    return at && *at && strspn(at, "0123456789") == strlen(at);
}

/* The number at the end of "X_input_<n>", and where "_input_" begins; -1 for other names. */
static int input_number(const char *name, size_t *head)
{
    const char *at = NULL;
    for (const char *next = strstr(name, "_input_"); next; next = strstr(next + 1, "_input_"))
        at = next;
    if (!at || !at[7] || strspn(at + 7, "0123456789") != strlen(at + 7))
        return -1;
    *head = (size_t)(at - name);
    return at[7] == '0' ? 0 : 1;
}

/* Tells whether "X" of "X_input_0" is the whole model: then its weights are named "X_layer.weight". Names are in byte
 * order, so those that begin with "X_" lie together. */
static bool is_model(const assay_trial *trial, const char *name, size_t head)
{
    uint32_t low = 0;
    ASSAY_SEARCH(low, assay_trial_tensors(trial), strncmp(assay_trial_tensor(trial, low), name, head + 1) < 0);
    for (; low < assay_trial_tensors(trial); low++) {
        const char *other = assay_trial_tensor(trial, low);
        if (strncmp(other, name, head + 1) != 0)
            return false;
        if (strchr(other + head, '.') && words_of(other + head) & SAYS_PARAMETER)
            return true;
    }
    return false;
}

/* Order matters: gradients and optimizer states bear the names of their weights, and a loss's inputs the name of the
 * loss, so what stands in front of a name goes first. */
static assay_role role_by_name(const assay_trial *trial, const char *name)
{
    size_t head = 0;
    const unsigned words = words_of(name);
    const int input = words & SAYS_INPUT ? input_number(name, &head) : -1;
    if (name_begins(name, "gradient"))
        return ASSAY_ROLE_GRADIENT;
    if (name_begins(name, "optimizer"))
        return ASSAY_ROLE_OPTIMIZER;
    /* The first input of a loss is what the model said, any other one what it should have said. */
    if (input >= 0 && words & SAYS_LOSS)
        return input > 0 ? ASSAY_ROLE_LABEL : ASSAY_ROLE_ACTIVATION;
    if (words & SAYS_LOSS)
        return ASSAY_ROLE_LOSS;
    if (name_begins(name, "label") || name_begins(name, "target"))
        return ASSAY_ROLE_LABEL;
    if (name_begins(name, "input") || name_begins(name, "image") || (input >= 0 && is_model(trial, name, head)))
        return ASSAY_ROLE_INPUT;
    if (input < 0 && words & SAYS_PARAMETER && !strstr(name, "_output_") && !strchr(name, '/'))
        return ASSAY_ROLE_WEIGHT;
    return ASSAY_ROLE_ACTIVATION;
}

static int find_role(const assay_trial *trial, uint32_t tensor, uint8_t *role)
{
    /* The first collection that has the tensor counts: one of weights is the likeliest to have too wide a pattern. */
    static const struct {
        const char *collection;
        assay_role role;
    } known[] = {{"gradients", ASSAY_ROLE_GRADIENT},
                 {"losses", ASSAY_ROLE_LOSS},
                 {"optimizer_variables", ASSAY_ROLE_OPTIMIZER},
                 {"weights", ASSAY_ROLE_WEIGHT},
                 {"biases", ASSAY_ROLE_WEIGHT},
                 {"labels", ASSAY_ROLE_LABEL}};
    const char *name = assay_trial_tensor(trial, tensor);
    assay_role named = role_by_name(trial, name);
    *role = (uint8_t)named;
    if (named != ASSAY_ROLE_ACTIVATION)
        return ASSAY_OK; /* a collection whose pattern is too wide does not make a gradient a weight */
    bool passed = ends_with_number(name, "_input_") || ends_with_number(name, "_output_"); /* "attn_bias_output_0" */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (passed && known[i].role == ASSAY_ROLE_WEIGHT)
            continue;
        int member = assay_trial_is_member(trial, known[i].collection, tensor, NULL);
        if (member == ASSAY_ENOMEM)
            return member;
        if (member == 1) {
            *role = (uint8_t)known[i].role;
            return ASSAY_OK;
        }
    }
    return ASSAY_OK;
}

static int phase_of(assay_role role, bool weights_first)
{
    switch (role) {
    case ASSAY_ROLE_INPUT:
    case ASSAY_ROLE_LABEL:
        return PHASE_DATA;
    case ASSAY_ROLE_WEIGHT:
        return weights_first ? PHASE_STATE : PHASE_UPDATE;
    case ASSAY_ROLE_LOSS:
        return PHASE_LOSS;
    case ASSAY_ROLE_GRADIENT:
        return PHASE_BACKWARD;
    case ASSAY_ROLE_OPTIMIZER:
        return PHASE_UPDATE;
    case ASSAY_ROLE_ACTIVATION:
    default:
        return PHASE_FORWARD;
    }
}

/* Tells whether the first weight is saved before the first result of a pass; true as well where nothing but weights
 * is saved. */
static bool weights_come_first(const assay_trial *trial, const uint32_t *by_position, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int role = trial->role[by_position[i]];
        if (role == ASSAY_ROLE_WEIGHT)
            return true;
        if (role == ASSAY_ROLE_ACTIVATION || role == ASSAY_ROLE_LOSS || role == ASSAY_ROLE_GRADIENT)
            return false;
    }
    return true;
}

/* Called when a trial has been read, with `position` from the reading; a trial without positions keeps the order of
 * its names. */
int assay_trial_order_find(assay_trial *trial)
{
    uint32_t count = trial->tensors ? assay_trial_tensors(trial) : 0, next = 0;
    uint32_t *by_position = assay_alloc(count * sizeof *by_position);
    trial->role = assay_alloc(count);
    trial->order = assay_alloc(count * sizeof *trial->order);
    int status = by_position && trial->role && trial->order ? ASSAY_OK : ASSAY_ENOMEM;
    for (uint32_t t = 0; status == ASSAY_OK && t < count; t++) {
        by_position[trial->position ? trial->position[t] : t] = t;
        status = find_role(trial, t, &trial->role[t]);
    }
    if (status == ASSAY_OK) {
        trial->weights_first = weights_come_first(trial, by_position, count);
        /* Six walks over the tensors keep the order within each phase, which a sort would need a second key for. */
        for (int phase = PHASE_DATA; phase <= PHASE_UPDATE; phase++)
            for (uint32_t i = 0; i < count; i++)
                if (phase_of((assay_role)trial->role[by_position[i]], trial->weights_first) == phase)
                    trial->order[by_position[i]] = next++;
    }
    free(by_position);
    return status;
}

assay_role assay_trial_role(const assay_trial *trial, uint32_t tensor)
{
    return trial->role && tensor < assay_trial_tensors(trial) ? (assay_role)trial->role[tensor] : ASSAY_ROLE_ACTIVATION;
}

uint32_t assay_trial_order(const assay_trial *trial, uint32_t tensor)
{
    return trial->order && tensor < assay_trial_tensors(trial) ? trial->order[tensor] : tensor;
}
