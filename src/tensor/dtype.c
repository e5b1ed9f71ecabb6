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

size_t assay_dtype_bits(int dtype)
{
    switch (dtype) {
    case ASSAY_FLOAT6_E2M3FN:
    case ASSAY_FLOAT6_E3M2FN:
        return 6;
    case ASSAY_FLOAT4_E2M1FN:
        return 4;
    default:
        return 8 * assay_dtype_size(dtype);
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
    case ASSAY_FLOAT8_E4M3FNUZ:
    case ASSAY_FLOAT8_E5M2FNUZ:
    case ASSAY_FLOAT8_E8M0FNU:
    case ASSAY_FLOAT6_E2M3FN:
    case ASSAY_FLOAT6_E3M2FN:
    case ASSAY_FLOAT4_E2M1FN:
        return true;
    default:
        return false;
    }
}
