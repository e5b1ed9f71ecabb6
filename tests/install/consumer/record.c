/* record.c - a training of two steps that records one tensor. */
#include <assay/hook.h>

int main(int argc, char **argv)
{
    assay_hook *hook = NULL;
    float weight[4] = {1, 2, 3, 4};
    const int64_t shape[] = {2, 2};
    if (argc != 2 || assay_hook_open(argv[1], 0, 1, &hook, NULL) != ASSAY_OK)
        return 1;
    assay_hook_set(hook, "save_interval", "1");
    assay_hook_collection(hook, "weights");
    for (int step = 0; step < 2; step++) {
        assay_hook_step(hook);
        assay_hook_save(hook, "net.weight", ASSAY_FLOAT32, 2, shape, weight);
    }
    return assay_hook_close(hook) == ASSAY_OK ? 0 : 1;
}
