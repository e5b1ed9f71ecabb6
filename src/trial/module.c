/* module.c - see assay/module.h. Texts are strangers': each is a type, and arguments behind it that may be anything. */
#include <assay/module.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Types by how they begin, the first that fits; those of a network itself are known by "rms" alone. */
static const struct {
    const char *begin;
    int kind;
} TYPES[] = {
    {"torch.Linear", ASSAY_MODULE_LINEAR},       {"torch.ConvTranspose", ASSAY_MODULE_OTHER},
    {"torch.Conv", ASSAY_MODULE_CONVOLUTION},    {"torch.LayerNorm", ASSAY_MODULE_NORM_ROWS},
    {"torch.RMSNorm", ASSAY_MODULE_NORM_ROOT},   {"torch.BatchNorm", ASSAY_MODULE_NORM_CHANNELS},
    {"torch.SyncBatchNorm", ASSAY_MODULE_OTHER}, /* of the batches of all workers */
    {"torch.AvgPool", ASSAY_MODULE_POOLING},     {"torch.MaxPool", ASSAY_MODULE_POOLING},
    {"torch.Adaptive", ASSAY_MODULE_POOLING},    {"torch.Embedding", ASSAY_MODULE_EMBEDDING},
    {"torch.Dropout", ASSAY_MODULE_FUNCTION},    {"torch.Identity", ASSAY_MODULE_FUNCTION},
    {"torch.ReLU", ASSAY_MODULE_FUNCTION},       {"torch.LeakyReLU", ASSAY_MODULE_FUNCTION},
    {"torch.ELU", ASSAY_MODULE_FUNCTION},        {"torch.GELU", ASSAY_MODULE_FUNCTION},
    {"torch.SiLU", ASSAY_MODULE_FUNCTION},       {"torch.Tanh", ASSAY_MODULE_FUNCTION},
    {"torch.Sigmoid", ASSAY_MODULE_FUNCTION},    {"torch.", ASSAY_MODULE_OTHER},
};

/* "RMSNorm", "T5RmsNorm", "rms_norm": words, not letters of others as in "LayerNormSimple". */
static bool begins_with_rms(const char *at, bool word)
{
    return strncmp(at, "RMS", 3) == 0 || strncmp(at, "Rms", 3) == 0 || (word && strncmp(at, "rms", 3) == 0);
}

int assay_module_kind_of(const char *what)
{
    if (!what)
        return ASSAY_MODULE_UNKNOWN;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strncmp(what, TYPES[i].begin, strlen(TYPES[i].begin)) == 0) {
            double eps; /* PyTorch's own goes by dtype and version where none is given */
            /* Without eps= in the text nobody knows which one the layer used, and a law over it would be held against
             * a guess. */
            return TYPES[i].kind == ASSAY_MODULE_NORM_ROOT && !assay_module_number(what, "eps", 0, &eps)
                       ? ASSAY_MODULE_OTHER
                       : TYPES[i].kind;
        }
    /* The type ends at the first blank; arguments behind it may have any words. */
    for (const char *at = what; *at && *at != ' '; at++)
        if (begins_with_rms(at, at == what || at[-1] == '_'))
            return ASSAY_MODULE_NORM_ROOT;
    return ASSAY_MODULE_UNKNOWN;
}

/* What stands behind "argument="; NULL: it is not there. */
static const char *find(const char *what, const char *argument)
{
    const size_t length = strlen(argument);
    for (const char *at = what ? strchr(what, ' ') : NULL; at; at = strchr(at + 1, ' '))
        if (strncmp(at + 1, argument, length) == 0 && at[1 + length] == '=')
            return at + length + 2;
    return NULL;
}

/* "at" numbers the items of a tuple such as stride=2,1. */
bool assay_module_number(const char *what, const char *argument, int at, double *number)
{
    const char *value = find(what, argument);
    for (; value && at > 0; at--) {
        value += strcspn(value, ", ");
        value = *value == ',' ? value + 1 : NULL;
    }
    /* strtod would also take "nan", "inf" and hexadecimal numbers. */
    if (!value || (!isdigit((unsigned char)*value) && *value != '-' && *value != '.'))
        return false;
    char *end;
    const double said = strtod(value, &end);
    const bool is = isfinite(said) && (*end == '\0' || *end == ' ' || *end == ',');
    if (is)
        *number = said;
    return is;
}

bool assay_module_says(const char *what, const char *argument, const char *value)
{
    const char *said = find(what, argument);
    const size_t length = strlen(value);
    return said && strncmp(said, value, length) == 0 && (said[length] == '\0' || said[length] == ' ');
}
