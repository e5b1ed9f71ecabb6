/* dtype.c - the table of element types. */
#include <assay/tensor.h>

size_t assay_dtype_size(int dtype)
{
    switch (dtype) {
#define DTYPE_SIZE(name, number, size, text)                                                                           \
    case number:                                                                                                       \
        return size;
        ASSAY_DTYPE_LIST(DTYPE_SIZE)
#undef DTYPE_SIZE
    default:
        return 0;
    }
}

const char *assay_dtype_name(int dtype)
{
    switch (dtype) {
#define DTYPE_NAME(name, number, size, text)                                                                           \
    case number:                                                                                                       \
        return text;
        ASSAY_DTYPE_LIST(DTYPE_NAME)
#undef DTYPE_NAME
    default:
        return "unknown";
    }
}

bool assay_dtype_known(int dtype)
{
    return dtype == ASSAY_STRING || assay_dtype_size(dtype) > 0;
}

bool assay_dtype_is_float(int dtype)
{
    switch (dtype) {
    case ASSAY_FLOAT16:
    case ASSAY_FLOAT32:
    case ASSAY_FLOAT64:
    case ASSAY_BFLOAT16:
    case ASSAY_COMPLEX64:
    case ASSAY_COMPLEX128:
    case ASSAY_FLOAT8_E5M2:
    case ASSAY_FLOAT8_E4M3FN:
        return true;
    default:
        return false;
    }
}
