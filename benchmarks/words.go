package main

import "strings"

// Words of tool catalogs, most of them common. The generator draws from a
// Zipf distribution over commonWords and a tail of made-up ones.
const (
	verbText = `get list create update delete search find add remove set send read write run start stop
fetch export import upload download move copy rename merge split assign close open archive restore publish
schedule cancel approve reject validate parse convert format summarize analyze compare query count check
monitor subscribe invite share tag link sync deploy build test debug render translate generate preview`

	nounText = `file folder issue pull request branch commit repository project task ticket board sprint
page document database table row column query record user team role permission message channel thread
email calendar event meeting contact lead deal invoice payment order product customer subscription price
report dashboard chart metric log trace alert incident server container cluster pod image volume network
domain certificate key secret token session account workspace organization comment review label milestone
release pipeline job workflow run artifact environment variable template form field note notebook article
feed story video audio photo album playlist track map route place weather forecast stock currency rate
flight hotel booking car ticket recipe test suite case element browser tab screenshot cookie url link
graph node edge index vector embedding model prompt agent memory dataset sample schema view function
script package dependency version license vulnerability policy rule backup snapshot disk bucket object
queue topic stream device sensor location shipment package warehouse inventory vendor contract employee
candidate interview survey answer question course lesson student grade campaign audience ad keyword`

	commonText = `the a to and for or this in use of is with tool an name not when returns if user all you
from by specific id on be only it that are can data details one as new page given which such optional
required default value values example also must should any each their its into after before between than
type text string number list array object time date range limit result results first last current existing
multiple single full empty valid false true null note important call same other information available
provided returned specify include contains based using without where per more most information status`
)

var (
	verbs       = strings.Fields(verbText)
	nouns       = strings.Fields(nounText)
	commonWords = strings.Fields(commonText)
)

// syllables make the tail's words and the servers' product names.
var syllables = strings.Fields(`ba be bi bo ca ce co da de di do fa fi fo ga ge go ha he hi ka ke ki la le li lo
ma me mi mo na ne ni no pa pe pi po ra re ri ro sa se si so ta te ti to va ve vi vo za ze zo tron lex flow sync
hub desk base ware grid cast link mind`)
