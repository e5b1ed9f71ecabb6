/* Any bytes as the JSON of an agent of stable-baselines3, in which objects are pickles in base64 (src/verify/archive.c); behind a
 * zero byte, as such a pickle itself. It lies in a zip file, as the one that the agent is. */
#include "walk_archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char BEFORE[] = "{\"policy\": {\":serialized:\": \"", BEHIND[] = "\"}}";

/* The bytes in base64, without what fills the last group. */
static size_t put_base64(const uint8_t *data, size_t size, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t made = 0;
    uint32_t bits = 0;
    for (size_t i = 0, have = 0; i < size; i++) {
        bits = (bits << 8 | data[i]) & 0xffffff;
        for (have += 8; have >= 6; have -= 6)
            out[made++] = digits[bits >> (have - 6) & 63];
        if (i + 1 == size && have > 0)
            out[made++] = digits[bits << (6 - have) & 63];
    }
    return made;
}

static void put_number(uint8_t *to, size_t bytes, uint64_t number)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(number >> 8 * i);
}

/* Makes a zip file of what lies behind the first LOCAL bytes, the one entry of it. How long it is. */
enum { NAME = 4, LOCAL = 30 + NAME, CENTRAL = 46 + NAME, END = 22 };

static size_t close_zip(uint8_t *zip, size_t size)
{
    uint8_t *central = zip + LOCAL + size, *end = central + CENTRAL;
    memcpy(zip, "PK\3\4\24\0", 6);
    memcpy(central, "PK\1\2\24\0\24\0", 8);
    memcpy(end, "PK\5\6", 4);
    for (uint8_t *sizes = zip + 18; sizes; sizes = sizes == zip + 18 ? central + 20 : NULL) {
        put_number(sizes, 4, size);
        put_number(sizes + 4, 4, size);
        put_number(sizes + 8, 2, NAME);
    }
    memcpy(zip + LOCAL - NAME, "data", NAME);
    memcpy(central + CENTRAL - NAME, "data", NAME);
    put_number(end + 8, 2, 1);
    put_number(end + 10, 2, 1);
    put_number(end + 12, 4, CENTRAL);
    put_number(end + 16, 4, LOCAL + size);
    return LOCAL + size + CENTRAL + END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t room = sizeof BEFORE + 2 * size + sizeof BEHIND;
    uint8_t *zip = size < 1 << 16 ? calloc(1, LOCAL + room + CENTRAL + END) : NULL;
    char *text = (char *)zip + LOCAL;
    size_t length = size;
    if (!zip)
        return 0;
    if (size > 0 && data[0] == 0) {
        memcpy(text, BEFORE, sizeof BEFORE - 1);
        length = sizeof BEFORE - 1 + put_base64(data + 1, size - 1, text + sizeof BEFORE - 1);
        memcpy(text + length, BEHIND, sizeof BEHIND - 1);
        length += sizeof BEHIND - 1;
    } else if (size > 0) {
        memcpy(text, data, size);
    }
    walk_archive(zip, close_zip(zip, length));
    free(zip);
    return 0;
}
