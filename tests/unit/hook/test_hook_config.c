/* The configuration of hooks: every parameter, the precedence of its five places, patterns, the reference's file. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/fault.h"
#include "catch_stderr.h"
#include "hook/config.h"

enum { TRAIN, EVAL, PREDICT, GLOBAL };

typedef struct setting {
    const char *collection, *key, *value;
} setting;

typedef struct steps_case {
    const char *what;
    setting settings[6];
    const char *collection;
    int mode;
    const char *saved; /* which of the steps 0..12 are saved */
} steps_case;

static const steps_case steps_cases[] = {
    {"default interval", {{0}}, "losses", TRAIN, "0"},
    {"hook interval", {{NULL, "save_interval", "5"}}, "losses", EVAL, "0 5 10"},
    {"start and end",
     {{NULL, "save_interval", "3"}, {NULL, "start_step", "3"}, {NULL, "end_step", "9"}},
     "losses",
     TRAIN,
     "3 6"},
    {"end 0 saves nothing", {{NULL, "end_step", "0"}}, "losses", TRAIN, ""},
    {"end None",
     {{NULL, "end_step", "4"}, {NULL, "end_step", "None"}, {NULL, "save_interval", "6"}},
     "losses",
     TRAIN,
     "0 6 12"},
    {"steps add to the interval", {{NULL, "save_steps", " 7, 1 ,2"}}, "losses", TRAIN, "0 1 2 7"},
    {"steps need no range", {{NULL, "save_steps", "1,12"}, {NULL, "end_step", "0"}}, "losses", TRAIN, "1 12"},
    {"a mode before all modes",
     {{NULL, "train.save_interval", "4"}, {NULL, "save_interval", "6"}},
     "losses",
     TRAIN,
     "0 4 8 12"},
    {"other modes keep", {{NULL, "train.save_interval", "4"}, {NULL, "save_interval", "6"}}, "losses", EVAL, "0 6 12"},
    {"eval", {{NULL, "eval.save_interval", "4"}}, "losses", EVAL, "0 4 8 12"},
    {"predict", {{NULL, "predict.save_steps", "3"}, {NULL, "predict.end_step", "0"}}, "losses", PREDICT, "3"},
    {"global", {{NULL, "global.start_step", "2"}, {NULL, "save_interval", "5"}}, "losses", GLOBAL, "5 10"},
    {"collection before hook",
     {{"losses", "save_interval", "6"}, {NULL, "save_interval", "4"}},
     "losses",
     TRAIN,
     "0 6 12"},
    {"collection before the hook's mode",
     {{"losses", "save_interval", "6"}, {NULL, "train.save_interval", "4"}},
     "losses",
     TRAIN,
     "0 6 12"},
    {"the collection's mode first",
     {{"losses", "train.save_interval", "3"}, {"losses", "save_interval", "6"}},
     "losses",
     TRAIN,
     "0 3 6 9 12"},
    {"key by key",
     {{"losses", "start_step", "5"}, {NULL, "save_interval", "3"}, {NULL, "end_step", "10"}},
     "losses",
     TRAIN,
     "6 9"},
    {"other collections keep",
     {{"weights", "save_interval", "6"}, {NULL, "save_interval", "4"}},
     "losses",
     TRAIN,
     "0 4 8 12"},
    {"gradients in training", {{"gradients", "save_interval", "6"}}, "gradients", TRAIN, "0 6 12"},
    {"no gradients in evaluation", {{"gradients", "save_interval", "6"}}, "gradients", EVAL, ""},
    {"no optimizer in prediction", {{"optimizer_variables", "save_interval", "6"}}, "optimizer_variables", PREDICT, ""},
    {"weights in evaluation", {{"weights", "save_interval", "6"}}, "weights", EVAL, "0 6 12"},
};

static void make(hook_config *config)
{
    CU_ASSERT_EQUAL_FATAL(hook_config_init(config), 0);
}

static int apply(hook_config *config, const setting *s)
{
    if (s->collection)
        CU_ASSERT_EQUAL_FATAL(hook_config_declare(config, s->collection, NULL, NULL), 0);
    return hook_config_set(config, s->collection, s->key, s->value, NULL);
}

static void test_steps(void)
{
    hook_config config;
    for (size_t i = 0; i < sizeof steps_cases / sizeof *steps_cases; i++) {
        const steps_case *c = &steps_cases[i];
        char saved[64] = "";
        make(&config);
        for (size_t s = 0; s < 6 && c->settings[s].key; s++)
            CU_ASSERT_EQUAL(apply(&config, &c->settings[s]), 0);
        CU_ASSERT_EQUAL_FATAL(hook_config_freeze(&config, NULL), 0);
        uint64_t bit = (uint64_t)1 << hook_config_find(&config, c->collection);
        for (int step = 0; step <= 12; step++) {
            if (hook_config_step_mask(&config, c->mode, step) & bit)
                sprintf(saved + strlen(saved), "%s%d", *saved ? " " : "", step);
        }
        if (strcmp(saved, c->saved) != 0)
            printf("\n%s: \"%s\" instead of \"%s\"\n", c->what, saved, c->saved);
        CU_ASSERT_STRING_EQUAL(saved, c->saved);
        hook_config_release(&config);
    }
}

static const struct {
    const char *tensor, *collections; /* of all built-in ones */
} built_in[] = {
    {"net.weight", "weights"},
    {"gradient/net.weight", "gradients"},
    {"net.bias", "biases"},
    {"gradient/net.bias", "gradients"},
    {"CrossEntropyLoss_output_0", "losses outputs"},
    {"CrossEntropyLoss_input_0", "inputs"},
    {"loss_input_output", ""},
    {"relu_input_12", "inputs"},
    {"relu_output_0", "outputs"},
    {"train-rmse", "metrics"},
    {"metrics/accuracy", "metrics"},
    {"labels", "labels"},
    {"predictions", "predictions"},
    {"prediction/7", "predictions"},
    {"inputs/x", "inputs"},
    {"optimizer/m.0", "optimizer_variables"},
    {"something", ""},
};

static void test_built_in(void)
{
    static const char *const names[] = {"weights", "biases",      "gradients",           "metrics", "inputs", "outputs",
                                        "labels",  "predictions", "optimizer_variables", "losses"};
    hook_config config;
    make(&config);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        CU_ASSERT_EQUAL(hook_config_declare(&config, names[i], NULL, NULL), 0);
    CU_ASSERT_EQUAL(hook_config_freeze(&config, NULL), 0);
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in; i++) {
        uint64_t mask = hook_config_match(&config, built_in[i].tensor, strlen(built_in[i].tensor));
        char found[128] = "";
        for (size_t c = 0; c < config.count; c++) {
            if (mask >> c & 1)
                sprintf(found + strlen(found), "%s%s", *found ? " " : "", config.collections[c].name);
        }
        if (strcmp(found, built_in[i].collections) != 0)
            printf("\n%s is in \"%s\"\n", built_in[i].tensor, found);
        CU_ASSERT_STRING_EQUAL(found, built_in[i].collections);
    }
    hook_config_release(&config);
}

static uint64_t match(const hook_config *config, const char *tensor)
{
    return hook_config_match(config, tensor, strlen(tensor));
}

static void test_patterns(void)
{
    hook_config config;
    make(&config);
    CU_ASSERT_EQUAL(hook_config_set(&config, NULL, "include_regex", "relu , tanh,", NULL), 0);
    CU_ASSERT_EQUAL(hook_config_add_pattern(&config, "mine", "^a{1,2}$", NULL), 0);
    CU_ASSERT_EQUAL(hook_config_add_name(&config, "mine", "exactly this", NULL), 0);
    CU_ASSERT_EQUAL(hook_config_freeze(&config, NULL), 0);
    uint64_t by_default = (uint64_t)1 << hook_config_find(&config, "default");
    uint64_t mine = (uint64_t)1 << hook_config_find(&config, "mine");
    CU_ASSERT_EQUAL(match(&config, "x_relu_1"), by_default);
    CU_ASSERT_EQUAL(match(&config, "tanh"), by_default);
    CU_ASSERT_EQUAL(match(&config, "Tanh"), 0);
    CU_ASSERT_EQUAL(match(&config, "aa"), mine);
    CU_ASSERT_EQUAL(match(&config, "aaa"), 0);
    CU_ASSERT_EQUAL(match(&config, "exactly this"), mine);
    CU_ASSERT_EQUAL(match(&config, "net.weight"), 0); /* weights is not included */
    hook_config_release(&config);
}

/* A pattern that gives up on a name says so. */
static void test_slow_pattern(void)
{
    hook_config config;
    char said[400];
    make(&config);
    CU_ASSERT_EQUAL(hook_config_add_pattern(&config, "mine", "^(a+)+$", NULL), 0);
    CU_ASSERT_EQUAL(hook_config_freeze(&config, NULL), 0);
    catch_stderr();
    uint64_t mask = match(&config, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    uint64_t other = match(&config, "aaa");
    release_stderr(said, sizeof said);
    CU_ASSERT_TRUE(mask == 0 && other == (uint64_t)1 << hook_config_find(&config, "mine"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(said, "collection \"mine\": include_regex \"^(a+)+$\" takes too long on tensor \"aaa"));
    hook_config_release(&config);
}

static void test_save_all(void)
{
    hook_config config;
    static const char *const ways[] = {"save_all", "all"};
    for (int way = 0; way < 2; way++) {
        make(&config);
        int rc = way == 0 ? hook_config_set(&config, NULL, ways[0], "True", NULL)
                          : hook_config_declare(&config, ways[1], NULL, NULL);
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_EQUAL(hook_config_freeze(&config, NULL), 0);
        CU_ASSERT_EQUAL(match(&config, "anything"), (uint64_t)1 << hook_config_find(&config, "all"));
        uint64_t weights = match(&config, "net.weight");
        CU_ASSERT(weights >> hook_config_find(&config, "weights") & 1);
        hook_config_release(&config);
    }
}

static void test_reductions(void)
{
    static const struct {
        const char *given, *written; /* NULL: refused */
    } cases[] = {
        {"min,max,mean,std,variance,sum,prod,l1_norm,l2_norm", "min,max,mean,std,variance,sum,prod,l1_norm,l2_norm"},
        {" abs_max, min , abs_l2_norm,l1", "min,l1_norm,abs_max,abs_l2_norm"},
        {"abs_min,abs_max,abs_mean,abs_std,abs_variance,abs_sum,abs_prod,abs_l1_norm,abs_l2_norm",
         "abs_min,abs_max,abs_mean,abs_std,abs_variance,abs_sum,abs_prod,abs_l1_norm,abs_l2_norm"},
        {"min,min,max,min", "min,max"},
        {"", ""},
        {"median", NULL},
        {"min_norm", NULL},
        {"abs_", NULL},
        {"min;max", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hook_reductions r = {0};
        assay_buf text;
        assay_buf_init(&text, 1024);
        int rc = hook_reductions_parse(cases[i].given, &r, NULL);
        CU_ASSERT_EQUAL(rc, cases[i].written ? 0 : ASSAY_EPARAM);
        hook_reductions_put(&text, &r);
        assay_put_u8(&text, 0);
        if (cases[i].written)
            CU_ASSERT_STRING_EQUAL((char *)text.data, cases[i].written);
        assay_buf_release(&text);
    }
}

typedef struct reduce_case {
    setting settings[4];
    bool raw, shape;
    size_t count;
} reduce_case;

static void test_what_is_saved(void)
{
    static const reduce_case cases[] = {
        {{{0}}, true, false, 0},
        {{{NULL, "reductions", "min,max"}}, false, false, 2},
        {{{NULL, "reductions", "min"}, {NULL, "save_raw_tensor", "true"}}, true, false, 1},
        {{{NULL, "save_shape", "True"}}, true, true, 0},
        {{{NULL, "save_shape", "true"}, {NULL, "save_raw_tensor", "False"}}, false, true, 0},
        {{{NULL, "reductions", "min"}, {"weights", "reductions", "max,sum"}}, false, false, 2},
        {{{NULL, "reductions", "min"}, {NULL, "save_shape", "true"}, {"weights", "save_raw_tensor", "true"}},
         true,
         false,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hook_config config;
        make(&config);
        for (size_t s = 0; s < 4 && cases[i].settings[s].key; s++)
            CU_ASSERT_EQUAL(apply(&config, &cases[i].settings[s]), 0);
        CU_ASSERT_EQUAL(hook_config_freeze(&config, NULL), 0);
        const hook_reductions *r = &config.collections[hook_config_find(&config, "weights")].reduce;
        CU_ASSERT_EQUAL(r->raw, cases[i].raw);
        CU_ASSERT_EQUAL(r->shape, cases[i].shape);
        CU_ASSERT_EQUAL(r->count, cases[i].count);
        const hook_collection *losses = &config.collections[hook_config_find(&config, "losses")];
        CU_ASSERT(losses->reduce.raw && losses->reduce.count == 0 &&
                  !losses->histogram); /* scalars are never reduced */
        hook_config_release(&config);
    }
}

static void test_refused(void)
{
    static const struct {
        const char *collection, *key, *value;
        int status;
    } cases[] = {
        {NULL, "save_interval", "0", ASSAY_EPARAM},
        {NULL, "save_interval", "ten", ASSAY_EPARAM},
        {NULL, "save_interval", "1.5", ASSAY_EPARAM},
        {NULL, "save_interval", "99999999999999999999", ASSAY_EPARAM},
        {NULL, "start_step", "-1", ASSAY_EPARAM},
        {NULL, "end_step", "x", ASSAY_EPARAM},
        {NULL, "save_steps", "1,,2", ASSAY_EPARAM},
        {NULL, "save_steps", "1 2", ASSAY_EPARAM},
        {NULL, "save_steps", "1,", ASSAY_EPARAM},
        {NULL, "save_all", "yes", ASSAY_EPARAM},
        {NULL, "include_workers", "two", ASSAY_EPARAM},
        {NULL, "include_regex", "(", ASSAY_EPARAM},
        {NULL, "reductions", "median", ASSAY_EPARAM},
        {NULL, "save_shape", "1", ASSAY_EPARAM},
        {NULL, "queue_memory", "1", ASSAY_EPARAM},
        {NULL, "queue_policy", "wait", ASSAY_EPARAM},
        {NULL, "checksum", "md5", ASSAY_EPARAM},
        {NULL, "end_marker", "maybe", ASSAY_EPARAM},
        {NULL, "existing", "delete", ASSAY_EPARAM},
        {NULL, "worker", "a/b", ASSAY_EPARAM},
        {NULL, "worker", ".x", ASSAY_EPARAM},
        {NULL, "nonsense", "1", ASSAY_ENOTFOUND},
        {NULL, "train.nonsense", "1", ASSAY_ENOTFOUND},
        {NULL, "save_histogram", "true", ASSAY_ENOTFOUND},
        {"weights", "save_all", "true", ASSAY_ENOTFOUND},
        {"weights", "save_histogram", "2", ASSAY_EPARAM},
        {"undeclared", "save_interval", "1", ASSAY_ENOTFOUND},
    };
    hook_config config;
    make(&config);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assay_error err = {""};
        int rc = hook_config_set(&config, cases[i].collection, cases[i].key, cases[i].value, &err);
        if (rc != cases[i].status)
            printf("\n%s = %s: %d\n", cases[i].key, cases[i].value, rc);
        CU_ASSERT_EQUAL(rc, cases[i].status);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(err.text, cases[i].collection && rc == ASSAY_ENOTFOUND ? cases[i].collection : cases[i].key));
    }
    CU_ASSERT_EQUAL(hook_config_declare(&config, "", NULL, NULL), ASSAY_EPARAM);
    char name[16];
    int rc = 0;
    for (int i = 0; i < HOOK_COLLECTIONS && rc == 0; i++) {
        sprintf(name, "c%d", i);
        rc = hook_config_declare(&config, name, NULL, NULL);
    }
    CU_ASSERT_EQUAL(rc, ASSAY_EPARAM); /* the 65th */
    hook_config_release(&config);
}

static void test_accepted(void)
{
    hook_config config;
    make(&config);
    CU_ASSERT_EQUAL(config.memory, (uint64_t)64 << 20);
    static const setting all[] = {
        {NULL, "include_workers", "all"},
        {NULL, "queue_memory", "1000000"},
        {NULL, "queue_policy", "drop"},
        {NULL, "checksum", "crc32c"},
        {NULL, "end_marker", "never"},
        {NULL, "existing", "continue"},
        {NULL, "export_tensorboard", "true"},
        {NULL, "tensorboard_dir", "tb"},
        {NULL, "dry_run", "true"},
        {NULL, "sample_variance", "true"},
        {NULL, "durable", "true"},
        {NULL, "out_dir", "d"},
        {NULL, "worker", "/job:worker/replica:0/task:0/device:GPU:0"},
        {"weights", "save_histogram", "false"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CU_ASSERT_EQUAL(apply(&config, &all[i]), 0);
    CU_ASSERT(config.all_workers && config.drop && config.true_checksum && config.go_on && config.dry_run);
    CU_ASSERT(config.export_tensorboard && config.sample_variance && config.durable);
    CU_ASSERT_EQUAL(config.end, HOOK_END_NEVER);
    CU_ASSERT_EQUAL(config.memory, 1000000);
    CU_ASSERT_STRING_EQUAL(config.worker, "_job-worker_replica-0_task-0_device-GPU-0");
    CU_ASSERT_STRING_EQUAL(config.directory, "d");
    CU_ASSERT_FALSE(config.collections[hook_config_find(&config, "weights")].histogram);
    hook_config_release(&config);
}

static int load(hook_config *config, const char *text, assay_error *err)
{
    return hook_config_load(config, "config.json", text, strlen(text), false, err);
}

static void test_file(void)
{
    static const char text[] =
        "{\"S3OutputPath\": \"s3://bucket/prefix\", \"LocalPath\": \"out\", \"HookParameters\": {\"save_interval\": 2, "
        "\"train.save_interval\": \"4\", \"save_all\": false, \"include_regex\": \"relu*,input_*\", \"start_step\": "
        "null}, "
        "\"CollectionConfigurations\": [{\"CollectionName\": \"weights\"}, {\"CollectionName\": \"gradients\", "
        "\"CollectionParameters\": null}, {\"CollectionName\": \"custom\", \"CollectionParameters\": "
        "{\"include_regex\": "
        "[\"a,b\", \"c\"], \"save_steps\": [5, 3], \"eval.save_interval\": 3, \"reductions\": \"min, abs_max\", "
        "\"save_histogram\": \"false\"}}, {\"CollectionName\": \"custom\", \"CollectionParameters\": {\"end_step\": "
        "6}}]}";
    hook_config config;
    assay_error err = {""};
    make(&config);
    CU_ASSERT_EQUAL_FATAL(load(&config, text, &err), 0);
    CU_ASSERT_EQUAL_FATAL(hook_config_freeze(&config, NULL), 0);
    CU_ASSERT_STRING_EQUAL(config.directory, "out");
    int custom = hook_config_find(&config, "custom");
    CU_ASSERT_FATAL(custom >= 0);
    const hook_collection *c = &config.collections[custom];
    CU_ASSERT(c->included && !c->histogram && c->reduce.count == 2 && !c->reduce.raw);
    CU_ASSERT_EQUAL(c->rule[EVAL].interval, 3);
    CU_ASSERT_EQUAL(c->rule[TRAIN].interval, 4);
    CU_ASSERT_EQUAL(c->rule[PREDICT].interval, 2);
    CU_ASSERT_EQUAL(c->rule[TRAIN].end, 6);
    CU_ASSERT(hook_steps_hit(&c->rule[TRAIN], 3) && hook_steps_hit(&c->rule[TRAIN], 5) &&
              !hook_steps_hit(&c->rule[TRAIN], 8));
    CU_ASSERT_EQUAL(match(&config, "a,b"), (uint64_t)1 << custom);
    CU_ASSERT(match(&config, "rel") & (uint64_t)1 << hook_config_find(&config, "default"));
    CU_ASSERT(config.collections[hook_config_find(&config, "weights")].included);
    CU_ASSERT_FALSE(config.collections[hook_config_find(&config, "biases")].included);
    hook_config_release(&config);
}

static void test_bad_files(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "config.json"},
        {"[]", "an object"},
        {"{\"LocalPath\": 1}", "LocalPath"},
        {"{\"HookParameters\": []}", "HookParameters"},
        {"{\"HookParameters\": {\"save_interval\": 1.5}}", "save_interval"},
        {"{\"HookParameters\": {\"save_interval\": {}}}", "save_interval"},
        {"{\"HookParameters\": {\"save_steps\": [[1]]}}", "save_steps"},
        {"{\"HookParameters\": {\"include_regex\": [1]}}", "include_regex"},
        {"{\"HookParameters\": {\"include_regex\": \"[\"}}", "include_regex"},
        {"{\"CollectionConfigurations\": {}}", "CollectionConfigurations"},
        {"{\"CollectionConfigurations\": [{}]}", "CollectionConfigurations[0]"},
        {"{\"CollectionConfigurations\": [{\"CollectionName\": \"a\"}, 3]}", "CollectionConfigurations[1]"},
        {"{\"CollectionConfigurations\": [{\"CollectionName\": \"\"}]}", "name"},
        {"{\"CollectionConfigurations\": [{\"CollectionName\": \"a\", \"CollectionParameters\": 1}]}", "parameters"},
        {"{\"CollectionConfigurations\": [{\"CollectionName\": \"a\", \"CollectionParameters\": {\"end_step\": "
         "\"z\"}}]}",
         "end_step"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hook_config config;
        assay_error err = {""};
        make(&config);
        CU_ASSERT(load(&config, cases[i].text, &err) < 0);
        if (!strstr(err.text, cases[i].says) || !strstr(err.text, "config.json"))
            printf("\n%s\n", err.text);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].says));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "config.json"));
        hook_config_release(&config);
    }
    hook_config config;
    make(&config); /* what nobody knows is passed over */
    CU_ASSERT_EQUAL(load(&config, "{\"HookParameters\": {\"frobnicate\": true}, \"Other\": 1}", NULL), 0);
    hook_config_release(&config);
}

static void test_out_of_memory(void)
{
    static const char text[] =
        "{\"LocalPath\": \"out\", \"HookParameters\": {\"save_steps\": \"1,2\", \"include_regex\": \"a,b\"}, "
        "\"CollectionConfigurations\": [{\"CollectionName\": \"c\"}]}";
    int rc = ASSAY_ENOMEM, tries = 0;
    for (; rc == ASSAY_ENOMEM && tries < 200; tries++) {
        char fault[32];
        hook_config config;
        sprintf(fault, "alloc:%d", tries + 1);
        setenv("ASSAY_FAULT", fault, 1);
        assay_fault_arm(0);
        rc = hook_config_init(&config);
        if (rc == 0)
            rc = load(&config, text, NULL);
        if (rc == 0)
            rc = hook_config_freeze(&config, NULL);
        hook_config_release(&config);
    }
    unsetenv("ASSAY_FAULT");
    assay_fault_arm(0);
    CU_ASSERT_EQUAL(rc, 0); /* at last no allocation was left to fail */
    CU_ASSERT(tries > 20);
}

int main(void)
{
    CU_TestInfo tests[] = {{"steps", test_steps},
                           {"built-in collections", test_built_in},
                           {"patterns", test_patterns},
                           {"a pattern that gives up", test_slow_pattern},
                           {"save_all", test_save_all},
                           {"reductions", test_reductions},
                           {"what is saved", test_what_is_saved},
                           {"refused", test_refused},
                           {"accepted", test_accepted},
                           {"file", test_file},
                           {"bad files", test_bad_files},
                           {"out of memory", test_out_of_memory},
                           CU_TEST_INFO_NULL};
    return unit_main("hook config", tests);
}
