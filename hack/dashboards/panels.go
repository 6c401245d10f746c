package main

import (
	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Widths of panels, of 24.
const (
	quarter uint32 = 6
	half    uint32 = 12
	whole   uint32 = 24
)

// source is the data source that the viewer chooses.
var source = common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}

// start returns a dashboard without panels.
func start(name, title, description string, variables ...variable) *dashboard.DashboardBuilder {
	builder := dashboard.NewDashboardBuilder(title).Uid("fedquota-"+name).Description(description).
		Tags([]string{"fedquota"}).Time("now-3h", "now").Refresh("30s").Timezone("browser").Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Link(dashboard.NewDashboardLinkBuilder("fedquota").Type(dashboard.DashboardLinkTypeDashboards).
			Tags([]string{"fedquota"}).AsDropdown(true).KeepTime(true)).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus"))
	for _, v := range variables {
		builder = builder.WithVariable(dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Datasource(source).
			Query(dashboard.StringOrMap{String: new(v.values)}).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
			Sort(dashboard.VariableSortAlphabeticalAsc))
	}
	return builder
}

// variable is what the viewer chooses: values is the query of what there is.
type variable struct{ name, label, values string }

// query is what a panel shows, and what each of its series is called.
type query struct{ expr, legend string }

func targets(instant bool, queries []query) (all []cog.Builder[variants.Dataquery]) {
	for _, q := range queries {
		builder := prometheus.NewDataqueryBuilder().Expr(q.expr).LegendFormat(q.legend).Datasource(source)
		if instant {
			builder = builder.Instant()
		}
		all = append(all, builder)
	}
	return all
}

// lines shows values over time.
func lines(title, description, unit string, width uint32, queries ...query) *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().Title(title).Description(description).Unit(unit).Min(0).
		Height(8).Span(width).Datasource(source).FillOpacity(8).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).
			Placement(common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{"lastNotNull", "max"})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)).
		Targets(targets(false, queries))
}

// stacked shows values over time that add up to something.
func stacked(title, description, unit string, width uint32, queries ...query) *timeseries.PanelBuilder {
	return lines(title, description, unit, width, queries...).FillOpacity(40).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal))
}

// number shows how much something is, red from bad on.
func number(title, description string, bad float64, q query) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Height(4).Span(quarter).Datasource(source).
		NoValue("0").ColorMode(common.BigValueColorModeBackground).GraphMode(common.BigValueGraphModeNone).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(steps(nil, "blue", new(bad), "red")).
		Targets(targets(true, []query{q}))
}

// bars shows parts of 1, the largest first.
func bars(title, description string, width uint32, q query) *bargauge.PanelBuilder {
	return bargauge.NewPanelBuilder().Title(title).Description(description).Unit("percentunit").Min(0).Max(1).
		Height(10).Span(width).Datasource(source).DisplayMode(common.BarGaugeDisplayModeBasic).
		Orientation(common.VizOrientationHorizontal).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		Thresholds(steps(nil, "green", new(.8), "orange", new(.999), "red")).
		Targets(targets(true, []query{q}))
}

// steps returns thresholds of values and colors, of which the first has no value.
func steps(of ...any) *dashboard.ThresholdsConfigBuilder {
	var all []dashboard.Threshold
	for i := 0; i < len(of); i += 2 {
		value, _ := of[i].(*float64)
		all = append(all, dashboard.Threshold{Value: value, Color: of[i+1].(string)})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(all)
}
