package redact

// An issuer's keys begin with a prefix; min more characters follow, of letters,
// digits and those in more.
type issuer struct {
	prefix string
	min    int
	more   string
}

// issuers by the first byte of the prefix. Lengths are below those in use, so that
// keys that were cut are found as well, and above those of ordinary words.
var issuers = func() (table [256][]issuer) {
	for _, is := range []issuer{
		{"sk-ant-", 12, "-_"},  // Anthropic
		{"sk-proj-", 12, "-_"}, // OpenAI
		{"sk-svcacct-", 12, "-_"},
		{"sk-admin-", 12, "-_"}, // OpenAI
		{"sk-or-v1-", 12, ""},   // OpenRouter
		{"ghp_", 16, ""},
		{"gho_", 16, ""},
		{"ghu_", 16, ""},
		{"ghs_", 16, ""},
		{"ghr_", 16, ""},
		{"github_pat_", 16, "_"},
		{"glpat-", 12, "-_."},
		{"gldt-", 16, "-_"},
		{"glrt-", 16, "-_."},
		{"glcbt-", 16, "-_"},
		{"glptt-", 16, "-_"},
		{"glft-", 16, "-_"},
		{"glimt-", 16, "-_"},
		{"glagent-", 16, "-_"},
		{"gloas-", 16, "-_"},
		{"glsoat-", 16, "-_"},
		{"xoxb-", 10, "-"},
		{"xoxp-", 10, "-"},
		{"xoxa-", 10, "-"},
		{"xoxr-", 10, "-"},
		{"xoxs-", 10, "-"},
		{"xoxe-", 10, "-"},
		{"xoxe.", 10, "-."},
		{"xoxc-", 10, "-"},
		{"xoxd-", 10, "-"},
		{"xapp-", 10, "-"},
		{"xwfp-", 10, "-"},
		{"AIza", 30, "-_"},
		{"ya29.", 20, "-_"},
		{"GOCSPX-", 16, "-_"}, // Google
		{"sk_live_", 10, ""},
		{"sk_test_", 10, ""},
		{"rk_live_", 10, ""},
		{"rk_test_", 10, ""},
		{"pk_live_", 10, ""},
		{"pk_test_", 10, ""},
		{"whsec_", 16, ""}, // Stripe
		{"npm_", 20, ""},
		{"hf_", 20, ""},
		{"api_org_", 20, ""},
		{"pypi-", 40, "-_"},
		{"rubygems_", 32, ""},
		{"SG.", 16, "-_"},
		{"dop_v1_", 32, ""},
		{"doo_v1_", 32, ""},
		{"dor_v1_", 32, ""}, // SendGrid, DigitalOcean
		{"shpat_", 24, ""},
		{"shpss_", 24, ""},
		{"shpca_", 24, ""},
		{"shppa_", 24, ""}, // Shopify
		{"sq0atp-", 16, "-_"},
		{"sq0csp-", 16, "-_"}, // Square
		{"r8_", 30, ""},
		{"gsk_", 30, ""},
		{"xai-", 40, ""},
		{"pplx-", 32, ""},
		{"nvapi-", 32, "-_"},
		{"tvly-", 20, "-"},
		{"fc-", 32, ""},
		{"dapi", 32, "-"},
		{"lin_api_", 24, ""},
		{"ntn_", 30, ""},
		{"figd_", 24, "-_"},
		{"glsa_", 24, "_"},
		{"hvs.", 20, "-_"},
		{"hvb.", 20, "-_"},
		{"dckr_pat_", 20, "-_"},
		{"tskey-", 16, "-"},
		{"PMAK-", 24, "-"},
		{"sntrys_", 24, "_"},
		{"sntryu_", 24, ""},
		{"ATATT3x", 24, "-_"},
		{"ATCTT3x", 24, "-_"},
		{"phx_", 24, ""},
		{"CFPAT-", 24, "-_"},
		{"EZAK", 40, ""},
		{"AGE-SECRET-KEY-1", 20, ""},
		{"secret_", 40, ""},
		{"key-", 32, ""},
		{"SK", 32, ""},
		{"sbp_", 32, ""},
		{"vercel_", 24, ""},
		{"re_", 24, "_"},
		{"LTAI", 16, ""},
		{"AKIA", 16, ""},
		{"ASIA", 16, ""},
		{"ABIA", 16, ""},
		{"ACCA", 16, ""},
	} {
		table[is.prefix[0]] = append(table[is.prefix[0]], is)
	}
	return table
}()
