import BellhopAgent
import BellhopCore

/// A bar chart of the last 24 hours, with a text alternative.
struct BarChart {
    /// The counts shown in one colour.
    struct Series {
        var name: String
        var classes: HTML
        /// The count of each of the hours, the oldest first.
        fileprivate var counts = [Int64](repeating: 0, count: BarChart.hours)

        /// - Parameters:
        ///   - entries: lists with `hour` and `count` for each hour whose count is not zero.
        ///   - now: the present hour.
        init(_ name: String, _ classes: HTML, _ entries: [JSON?], until now: Int64) {
            (self.name, self.classes) = (name, classes)
            for entry in entries.flatMap(\.elements) {
                guard let hour = entry["hour"]?.asInt, let count = entry["count"]?.asInt,
                    (0..<Int64(BarChart.hours)).contains(now - hour)
                else { continue }
                counts[BarChart.hours - 1 - Int(now - hour)] += count
            }
        }

        fileprivate var total: Int64 { counts.reduce(0, +) }
    }

    fileprivate static let hours = 24
    private static let height: Int64 = 80
    fileprivate static let hour: Int64 = 3_600_000_000

    let html: HTML

    init(_ title: String, _ series: [Series], _ context: PageContext) {
        let t = context.t
        let now = context.hour
        let sums = (0..<Self.hours).map { place in series.reduce(0) { $0 + $1.counts[place] } }
        let most = max(1, sums.max() ?? 1)
        var bars: HTML = ""
        for place in 0..<Self.hours {
            let moment = Timestamp(microseconds: (now - Int64(Self.hours - 1 - place)) * Self.hour)
            var top = 90
            for part in series where part.counts[place] > 0 {
                let height = max(2, Int(part.counts[place] * Self.height / most))
                top -= height
                bars +=
                    "<rect class=\"\(part.classes)\" x=\"\(place * 20 + 2)\" y=\"\(top)\" width=\"16\" height=\"\(height)\"><title>\(context.label(moment, part.name)): \(Int(part.counts[place]))</title></rect>"
            }
        }
        let total = Int(sums.reduce(0, +))
        let words = "\(title), \(t("in the last 24 hours")): \(total)"
        let legend = series.filter { _ in series.count > 1 }.map { part -> HTML in
            "<li><svg class=\"sign\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"\(part.classes)\" width=\"10\" height=\"10\"></rect></svg> \(part.name) \(Int(part.total))</li>"
        }
        let list: HTML = legend.isEmpty ? "" : "<ul class=\"numbers\">\(legend)</ul>"
        html = """
            <figure><svg viewBox="0 0 480 92" role="img" aria-label="\(words)"><line class="axis" x1="0" y1="90.5" x2="480" y2="90.5"></line>\(bars)</svg>
            <figcaption>\(words)</figcaption>\(list)</figure>
            """
    }
}

extension PageContext {
    /// The present hour, counted from 1970.
    var hour: Int64 { view.clock.now.microseconds / BarChart.hour }

    /// The time at which a bar begins, and the name of its series. In some zones the hours of UTC begin at half past.
    fileprivate func label(_ moment: Timestamp, _ name: String) -> String {
        let local = zone.local(moment)
        return "\(local.hour.twoDigits):\(local.minute.twoDigits) \(name)"
    }
}
