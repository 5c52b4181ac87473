// Asks as Grafana's Prometheus data source does, by its own backend: health check, queries and resources.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	"github.com/grafana/grafana/pkg/promlib"
)

func main() {
	seconds, err := strconv.ParseInt(os.Getenv("NOW"), 10, 64)
	check(err)
	now := time.Unix(seconds, 0)
	found := map[string]any{}
	for _, method := range []string{"POST", "GET"} {
		found[method] = ask(method, now)
	}
	check(json.NewEncoder(os.Stdout).Encode(found))
}

func ask(method string, now time.Time) map[string]any {
	ctx := context.Background()
	settings, err := json.Marshal(map[string]any{"httpMethod": method, "timeInterval": "15s"})
	check(err)
	plugin := backend.PluginContext{
		OrgID:    1,
		PluginID: "prometheus",
		DataSourceInstanceSettings: &backend.DataSourceInstanceSettings{
			ID: 1, UID: method, Name: method, URL: os.Getenv("URL") + "/prometheus", JSONData: settings,
			BasicAuthEnabled: true, BasicAuthUser: "grafana",
			DecryptedSecureJSONData: map[string]string{"basicAuthPassword": os.Getenv("KEY")},
			Updated:                 time.Now(),
		},
	}
	service := promlib.NewService(nil, log.NewNullLogger(), nil)
	health, err := service.CheckHealth(ctx, &backend.CheckHealthRequest{PluginContext: plugin})
	check(err)
	found := map[string]any{"health": health.Status.String(), "details": string(health.JSONDetails)}

	query := func(id string, model map[string]any) {
		model["refId"] = id
		encoded, err := json.Marshal(model)
		check(err)
		answer, err := service.QueryData(ctx, &backend.QueryDataRequest{
			PluginContext: plugin,
			Queries: []backend.DataQuery{{
				RefID: id, JSON: encoded, Interval: 15 * time.Second, MaxDataPoints: 100,
				TimeRange: backend.TimeRange{From: now.Add(-time.Minute), To: now},
			}},
		})
		check(err)
		check(answer.Responses[id].Error)
		rows := []int{}
		for _, frame := range answer.Responses[id].Frames {
			count, err := frame.RowLen()
			check(err)
			rows = append(rows, count)
		}
		found[id] = rows
	}
	query("range", map[string]any{"expr": "peer_up", "range": true, "intervalMs": 15000})
	query("instant", map[string]any{"expr": "sum by (instance) (peer_up)", "instant": true, "range": false})
	query("exemplars", map[string]any{"expr": "peer_up", "range": true, "exemplar": true})

	resource := func(id, verb, path string, body string) {
		var answer struct {
			Status string `json:"status"`
			Data   any    `json:"data"`
		}
		err := service.CallResource(ctx, &backend.CallResourceRequest{
			PluginContext: plugin, Path: pathOf(path), URL: path, Method: verb, Body: []byte(body),
			Headers: map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}},
		}, backend.CallResourceResponseSenderFunc(func(response *backend.CallResourceResponse) error {
			if response.Status != 200 {
				return fmt.Errorf("%s %s: %d %s", verb, path, response.Status, response.Body)
			}
			return json.Unmarshal(response.Body, &answer)
		}))
		check(err)
		found[id] = answer.Data
	}
	from, to := strconv.FormatInt(now.Unix()-600, 10), strconv.FormatInt(now.Unix(), 10)
	times := "start=" + from + "&end=" + to
	match := "match%5B%5D=peer_up"
	resource("labels", method, "api/v1/labels?"+times+"&"+match, "")
	resource("values", "GET", "api/v1/label/instance/values?"+times+"&"+match, "")
	resource("series", method, "api/v1/series?"+times+"&"+match, "")
	resource("metadata", "GET", "api/v1/metadata?limit=1", "")
	resource("rules", "GET", "api/v1/rules", "")
	resource("buildinfo", "GET", "api/v1/status/buildinfo", "")
	return found
}

func pathOf(url string) string {
	for i, c := range url {
		if c == '?' {
			return url[:i]
		}
	}
	return url
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
