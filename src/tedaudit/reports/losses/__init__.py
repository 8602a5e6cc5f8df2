"""What a report says of losses: tables, the chart of the page, figures."""
