package snapshot

import (
	"cmp"
	"math/bits"
	"sync"

	"github.com/tooldex/tooldex/index/analysis"
	"github.com/tooldex/tooldex/index/bm25"
)

// otherCategory is what no category's descriptor speaks for.
const otherCategory = "Other"

// A descriptor is one category that the index can give a tool: its words are
// searched with the tool's own.
//
// A change of any descriptor is a new categoriesVersion. The first four names
// of the specification's example of get_tool_categories are among them.
type descriptor struct {
	name, description, words string
}

const categoriesVersion = 2

var descriptors = []descriptor{
	{"AI & Models", "Language models, embeddings, prompts and agents", "llm model prompt embedding inference completion chatbot agent neural huggingface openai anthropic gpt reasoning thinking thought memory knowledge graph entity rag vector transcribe"},
	{"Calendar & Tasks", "Events, meetings, to-do lists and projects", "calendar event meeting schedule appointment reminder task todo deadline project sprint board card kanban epic milestone availability jira asana trello linear clickup"},
	{"Cloud & Infrastructure", "Servers, containers, clusters and deployments", "cloud server container cluster kubeconfig kubernetes pod kubernetes docker deploy deployment instance vm virtual machine terraform aws azure gcp lambda serverless region network dns subnet node namespace helm ingress provision infrastructure vercel firebase hosting"},
	{"Code Generation", "Code writing and refactoring tools", "codegen generator scaffold boilerplate refactor refactoring snippet autocomplete formatter linter lint rename symbol function class package gopls lsp stub fixture"},
	{"Commerce & Payments", "Orders, invoices, payments and products", "payment invoice order product price customer subscription checkout cart refund stripe paypal shop store coupon billing charge shopify inventory purchase shipping"},
	{"Communication", "Email, messaging, notifications", "email mail message send chat channel slack discord teams sms telegram whatsapp inbox notification thread reply call voice conversation gmail twilio"},
	{"Customers & Marketing", "Contacts, leads, campaigns and support", "crm contact lead deal campaign customer ticket support hubspot salesforce marketing audience newsletter sales company pipeline zendesk intercom seo keyword ads advertising"},
	{"Data Processing", "Tools for data manipulation and analysis", "data csv json table column row dataset transform analyze analysis analytics chart plot statistics aggregate parse spreadsheet excel sheet pivot visualization report metric dataframe xml"},
	{"Databases", "Queries, schemas and records", "database sql query schema postgres mongodb atlas mysql mongodb redis sqlite collection index record transaction table migration snowflake bigquery elasticsearch document aggregate supabase clickhouse"},
	{"Documents & Notes", "Pages, notes, documents and wikis", "document note page notion wiki pdf word markdown confluence block workspace notebook doc docx paragraph obsidian slide presentation template comment"},
	{"File Operations", "Tools for file management", "file folder directory path read write copy move delete rename upload download zip archive filesystem storage drive bucket s3 dropbox blob disk"},
	{"Finance", "Markets, accounts and currencies", "stock market trading currency exchange crypto bitcoin wallet token price portfolio bank account balance ticker dividend earnings finance financial blockchain ethereum swap tax budget accounting"},
	{"Health & Science", "Medicine, biology, chemistry and research papers", "health medical patient drug disease clinical protein gene genome molecule chemistry biology paper arxiv pubmed fitness nutrition medicine hospital research scientific journal"},
	{"Home & Devices", "Devices, sensors and the home", "device sensor light thermostat home smart iot camera robot printer temperature switch room bluetooth mqtt appliance automation"},
	{"Maps, Travel & Weather", "Places, routes, trips and weather", "map location place route geocode latitude longitude distance direction weather forecast flight hotel travel trip airport train booking city country restaurant address"},
	{"Math & Time", "Calculations, units, dates and time zones", "calculate math number sum add sum multiply divide equation unit convert conversion time date timezone random average calculator arithmetic formula timestamp prime matrix integral"},
	{"Media", "Images, video, audio and design", "image video audio photo music song picture generate render resize youtube podcast speech figma design canvas color font playlist track spotify movie film icon animation svg screenshot 3d scene"},
	{"Monitoring", "Logs, metrics, alerts and incidents", "log metric alert monitor monitoring incident dashboard trace error grafana sentry datadog prometheus health uptime performance observability exception span latency oncall"},
	{"Search & Web", "Searching, browsing and reading the web", "web search url website browser playwright puppeteer selenium page crawl scrape link html fetch news google bing http navigate click element tab screenshot wikipedia article rss domain"},
	{"Security & Identity", "Users, permissions, secrets and vulnerabilities", "security user permission role password secret token key auth authentication authorization login encrypt certificate vulnerability scan policy access identity oauth group threat malware compliance vault"},
	{"Social & Games", "Social networks, games and sports", "post tweet twitter social follower like reddit instagram facebook linkedin game player team match score league sport character quest steam hashtag profile mastodon"},
	{"Software Development", "Repositories, issues, builds and code", "code repository git github gitlab postman commit branch pull request merge issue build test debug compile package dependency pipeline workflow release ide diff fork api sdk ci"},
	{"Text", "Writing, translating and transforming text", "text string translate language summarize sentence word character regex replace case encode decode hash base64 grammar spell format uuid translation sentiment"},
}

// A categorizer is a tiny index of the descriptors: the weight of each of its
// terms for each category that has it.
type categorizer struct {
	weights map[string][]categoryWeight
}

type categoryWeight struct {
	category int
	weight   float64
}

var categorizing = sync.OnceValue(newCategorizer)

// newCategorizer weighs a term by its rarity among the categories.
func newCategorizer() *categorizer {
	c := &categorizer{weights: map[string][]categoryWeight{}}
	var an analysis.Analyzer
	for i, d := range descriptors {
		seen := map[string]bool{}
		for _, t := range an.Tokens(d.words) {
			if !seen[t.Text] {
				seen[t.Text] = true
				c.weights[t.Text] = append(c.weights[t.Text], categoryWeight{category: i})
			}
		}
	}
	for _, list := range c.weights {
		idf := bm25.IDF(len(descriptors), uint32(len(list)))
		for i := range list {
			list[i].weight = idf
		}
	}
	return c
}

// categoryFields weigh where a tool has a term.
var categoryFields = [fieldCount]float64{fieldName: 2, fieldTitle: 1, fieldDescription: 1, fieldServer: 1.5}

const (
	// categoryFloor is the score below which a tool belongs nowhere: about
	// one rare word in its name and description.
	categoryFloor = 3
	// serverShare is how much the mean of its server's tools counts beside a
	// tool's own words: servers are about one thing more often than not.
	serverShare = 1.5
)

// categoryScores are a tool's by category.
type categoryScores [32]float64

// score looks for the descriptors' words in a tool's terms.
func (c *categorizer) score(terms *bm25.Doc, v bm25.View) (scores categoryScores) {
	n := 0
	for i, id := range terms.Terms {
		mask := terms.Masks[i]
		counts := terms.Counts[n : n+bits.OnesCount8(mask)]
		n += len(counts)
		list := c.weights[v.Term(id)]
		if len(list) == 0 {
			continue
		}
		tf := 0.0
		for _, count := range counts {
			f := bits.TrailingZeros8(mask)
			mask &= mask - 1
			tf += float64(categoryFields[f] * min(2, float64(count)))
		}
		for _, w := range list {
			scores[w.category] += w.weight * tf / (1 + tf/2)
		}
	}
	return scores
}

// best is the category of these scores.
func (s *categoryScores) best() string {
	best := 0
	for i := range descriptors {
		if s[i] > s[best] {
			best = i
		}
	}
	if s[best] < categoryFloor {
		return otherCategory
	}
	return descriptors[best].name
}

// Categorize returns the categories of documents of one server: the
// configured one or the tool's own, else one derived from its words and those
// of the others. Of tools without a server each is alone. Lexicon numbers
// their terms.
func Categorize(docs []*Document, lexicon bm25.View) []string {
	var mean categoryScores
	scores := make([]categoryScores, len(docs))
	for i, d := range docs {
		scores[i] = categorizing().score(&d.Terms, lexicon)
		for c, x := range scores[i] {
			mean[c] += x
		}
	}
	out := make([]string, len(docs))
	for i, d := range docs {
		s := &scores[i]
		for c := range s {
			if d.Tool.Server != "" {
				s[c] += serverShare * mean[c] / float64(len(docs))
			}
		}
		out[i] = cmp.Or(d.Tool.Category, s.best())
	}
	return out
}
