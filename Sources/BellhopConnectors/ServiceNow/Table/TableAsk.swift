import BellhopCore

/// What is asked of a table, page after page, beside the query: what a row shows, and how it is asked for.
struct TableAsk: Sendable {
    var session: ServiceNowSession
    var table: String
    /// The paths of the fields that each row shows.
    var paths: [String]
    var display = Display.values
    /// The index or read replica that the server is to use; nil for its own choice.
    var category: String?
    /// An address longer than this goes into the body of a batch.
    var longest = 2048
    var timeout: Duration?

    /// Where the rows are and what tells them apart: with display values even a sys_id comes both ways.
    var shape: ListingShape {
        display == .values ? .serviceNow : ListingShape(items: ListingShape.serviceNow.items, key: ["sys_id", "value"])
    }

    /// The rows of a query from an offset on, at most so many.
    func page(_ query: EncodedQuery, offset: Int = 0, limit: Int) async throws(Failure) -> ServiceNowReply {
        var parameters = [
            ("sysparm_query", query.text), ("sysparm_fields", paths.joined(separator: ",")),
            ("sysparm_display_value", display.parameter), ("sysparm_exclude_reference_link", "true"),
            ("sysparm_suppress_pagination_header", "true"), ("sysparm_limit", String(limit)),
        ]
        if offset > 0 { parameters.append(("sysparm_offset", String(offset))) }
        if let category { parameters.append(("sysparm_query_category", category)) }
        var call = ServiceNowCall.table(table, parameters, expecting: .listing)
        call.timeout = timeout
        call.longest = longest
        do throws(Failure) {
            return try await session.send(call)
        } catch  where error.reason == .forbidden {
            throw Failure(
                .forbidden, error.remedy,
                "\(error.message) The account may not read the table \(table): give it a role that may, such as itil or snc_read_only, "
                    + "or take the source out.")
        }
    }

    /// How many rows a query has, seen or unseen; nil where the account may not ask.
    func count(_ query: EncodedQuery) async throws(Failure) -> Int? {
        let text = PercentEncoding.encode(query.text, keeping: "-._~,")
        var call = ServiceNowCall(
            target: "/api/now/v1/stats/\(table)?sysparm_count=true&sysparm_query=\(text)", expecting: .record)
        call.timeout = timeout
        call.longest = longest
        do throws(Failure) {
            return FieldValue(try await session.send(call).record["stats"]?["count"]).flatMap { Int($0.raw) }
        } catch  where [.forbidden, .goneOrHidden, .refused, .apiMissing].contains(error.reason) {
            return nil
        }
    }
}

extension ServiceNowReply {
    /// How many rows the query has before access rules; nil where the answer does not say.
    var total: Int? { headers["X-Total-Count"].flatMap { Int($0) } }
}
