/* keys.c - see keys.h. */
#include "base/keys.h"

#include <string.h>

#include "base/nearest.h"

void assay_keys_odd(assay_keys *keys, const char *key, size_t length)
{
    uint32_t near = 0;
    /* Callers have at most 32 known keys: `near`, `seen` and `twice` have a bit for each. */
    for (unsigned i = 0; keys->known[i]; i++) {
        assay_nearest nearest;
        assay_nearest_begin(&nearest, key, length);
        assay_nearest_offer(&nearest, keys->known[i]);
        near |= nearest.best ? 1u << i : 0;
    }
    if (!keys->odd || (near && !keys->near)) {
        keys->odd = key;
        keys->odd_length = length;
    }
    keys->near |= near;
}

int assay_keys_find(assay_keys *keys, const char *key, size_t length)
{
    for (unsigned i = 0; keys->known[i]; i++)
        if (strlen(keys->known[i]) == length && memcmp(keys->known[i], key, length) == 0) {
            keys->twice |= keys->seen & 1u << i;
            keys->seen |= 1u << i;
            return (int)i;
        }
    assay_keys_odd(keys, key, length);
    return -1;
}

static bool has_one_bit(unsigned x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* How many bits differ: 0, 1, or 2 for more. `length` is above 0. Damage of a file flips single bits; what people
 * mistype is whole letters, which assay_keys_odd() measures. */
static unsigned bits_apart(const char *key, size_t length, const char *known)
{
    const unsigned first = (unsigned char)(key[0] ^ known[0]);
    unsigned apart = 0;
    if (first && !has_one_bit(first))
        return 2;
    for (size_t i = 0; i < length && apart < 2; i++) {
        const unsigned x = (unsigned char)(key[i] ^ known[i]);
        if (known[i] == '\0')
            return 2;
        if (x)
            apart += has_one_bit(x) ? 1 : 2;
    }
    return apart < 2 && known[length] == '\0' ? apart : 2;
}

/* The number of the key, -1: not known, and those that it is near to. */
static int look_up(const char *const *known, const char *key, size_t length, uint32_t *near)
{
    int found = -1;
    *near = 0;
    for (unsigned i = 0; length > 0 && known[i]; i++) {
        const unsigned apart = bits_apart(key, length, known[i]);
        *near |= apart == 1 ? 1u << i : 0;
        found = apart == 0 ? (int)i : found;
    }
    return found;
}

/* The same, remembered: an object has the keys of the one before. */
static int remember(const assay_keys *keys, const char *key, size_t length, uint32_t *near)
{
    if (length == 0 || length > sizeof keys->memory->slot->key)
        return look_up(keys->known, key, length, near);
    /* Length and three characters tell keys of one object apart; the multiplier is 2^32 over the golden ratio. */
    const uint32_t ends = (uint32_t)length | (uint32_t)(uint8_t)key[0] << 8 | (uint32_t)(uint8_t)key[length / 2] << 16 |
                          (uint32_t)(uint8_t)key[length - 1] << 24;
    assay_key_slot *slot = &keys->memory->slot[ends * UINT32_C(2654435761) >> (32 - ASSAY_KEY_SLOT_BITS)];
    if (slot->known != keys->known || slot->length != length || memcmp(slot->key, key, length) != 0) {
        slot->found = look_up(keys->known, key, length, &slot->near);
        slot->known = keys->known;
        slot->length = (uint8_t)length;
        memcpy(slot->key, key, length);
    }
    *near = slot->near;
    return slot->found;
}

int assay_keys_find_flipped(assay_keys *keys, const char *key, size_t length)
{
    uint32_t near = 0;
    const int found = keys->memory ? remember(keys, key, length, &near) : look_up(keys->known, key, length, &near);
    if (found >= 0 && !(keys->seen & 1u << found)) {
        keys->seen |= 1u << found;
        return found;
    }
    keys->twice |= found >= 0 ? 1u << found : 0;
    keys->near |= near;
    return found;
}

bool assay_key_is_off(const char *key, size_t length, const char *known)
{
    size_t other = 0;
    if (strlen(known) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        other += key[i] != known[i];
    return other == 1;
}

const char *assay_keys_damaged(const assay_keys *keys)
{
    const uint32_t lost = keys->near & ~keys->seen;
    return lost ? keys->known[__builtin_ctz(lost)] : NULL;
}
